import GatewayCore
import GatewaySupport
import Testing

@testable import PAM

@Suite("Input that reaches modules")
struct LoginGrammarTests {
    @Test(
        "Only safe names are passed to modules",
        arguments: [
            ("alice", true), ("alice@example.com", true), ("example\\alice", true), ("ali ce", true),
            ("\u{E9}mile", true),
            ("", false), (".", false), ("..", false), ("-l", false), ("-\u{301}l", false), ("-\u{200D}l", false),
            ("a/b", false), ("a:b", false), ("a\nb", false),
            ("a\u{0}", false), ("a\u{7F}", false), ("a\u{85}b", false), ("a\u{2028}b", false),
            (String(repeating: "a", count: 256), true), (String(repeating: "a", count: 257), false),
        ])
    func names(_ name: String, _ isName: Bool) {
        #expect(LoginGrammar.isName(LoginName(name)) == isName)
    }

    @Test("Only passwords that libpam can take are passed to modules")
    func passwords() {
        func isPassword(_ bytes: [UInt8]) -> Bool { LoginGrammar.isPassword(Secret(bytes)) }
        #expect(!isPassword([]))
        #expect(isPassword([0x20]))
        #expect(isPassword([0xFF, 0x0A]))
        #expect(!isPassword([0x78, 0]))
        #expect(isPassword([UInt8](repeating: 0x78, count: 511)))
        #expect(!isPassword([UInt8](repeating: 0x78, count: 512)))
    }

    @Test("The remote host is always an address")
    func remoteHost() {
        func text(_ address: Peer.Address) -> String {
            RemoteHost.text(of: Peer(address: address, text: "evil.example"))
        }
        #expect(text(.v4(0xC000_0201)) == "192.0.2.1")
        #expect(text(.v6(0x2001_0DB8_0000_0000, 0xFF)) == "2001:db8::ff")
        #expect(text(.local) == "127.0.0.1")
        #expect(RemoteHost.isAddress("::1"))
        #expect(RemoteHost.isAddress("192.0.2.1"))
        for text in ["", "localhost", "192.0.2", "192.0.2.1 ", "192.0.2.1\n", "::1%eth0"] {
            #expect(!RemoteHost.isAddress(text), "\(text)")
        }
    }

    @Test("Command lines of workers are parsed strictly")
    func commandLines() throws {
        let plain = WorkerArguments(service: "x", serviceDirectory: "/d")
        #expect(try WorkerArguments(plain.commandLine) == plain)
        let service = try WorkerArguments(["--listen", "/s", "--allow", "ng", "--service", "x"])
        #expect(service.listen == "/s")
        #expect(service.allow == "ng")
        // The worker of a connection is given the stack, but not the socket.
        #expect(service.commandLine == ["--service", "x"])
        for bad in [
            [], ["--service"], ["--service", ""], ["--service", "../x"], ["--service", "x", "--service", "y"],
            ["--service", "x", "--listen", "/s"], ["--service", "x", "--allow", "ng"], ["--service", "x", "more"],
        ] as [[String]] {
            #expect(throws: WorkerArguments.UsageError.self, "\(bad)") { try WorkerArguments(bad) }
        }
    }
}
