import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewayTesting
import NotifyBackend
import Testing

/// An account that expires without a token, a change of a file or a call.
@Suite(
    "A system account that expires",
    .enabled(if: SystemTools.isRoot && SystemTools.userAdd != nil, "needs root and useradd"))
struct ExpiredAccountTests {
    @Test(
        "An expired system account loses its registrations at the backend, and other accounts keep theirs",
        .timeLimit(.minutes(1)))
    func loses() async throws {
        let names = (0..<2).map { _ in "ngt" + String(UInt64.random(in: .min ... .max), radix: 36) }
        defer { for name in names { try? SystemTools.run("/usr/sbin/userdel", [name]) } }
        for name in names {
            try SystemTools.run("/usr/sbin/useradd", ["-M", "-s", "/usr/sbin/nologin", name])
            try SystemTools.run("/usr/sbin/chpasswd", [], input: "\(name):correct horse\n")
        }
        let stack = try PAMStack("auth required pam_unix.so\naccount required pam_unix.so")
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { backend in
            let directory = try TestFiles()
            let text =
                ConfiguredGateway.preamble.replacing("127.0.0.1:1\"", with: "127.0.0.1:\(backend)\"") + """
                    authenticators:
                      - pam: { service: \(PAMStack.service), service-directory: \(stack.path) }
                    """
            let catalog = PluginCatalog([TestPAMPlugin.self])
            try await ConfiguredGateway.start(text, in: directory, catalog: catalog) { gateway in
                guard case .tcp(_, let port) = gateway.listeners.first else {
                    throw GatewayUnderTest.StartFailure(description: "no listener")
                }
                let client = try RawClient(port: port)
                let handles = [String(repeating: "AC", count: 32), String(repeating: "BD", count: 32)]
                for (name, handle) in zip(names, handles) {
                    let answer = try await client.register(name, "apns", handle, password: "correct horse")
                    #expect(answer.status == 200)
                }
                #expect(hub.registrations().count == 2)
                try SystemTools.run("/usr/sbin/usermod", ["-e", "1", names[0]])
                // The gateway rechecks accounts each ten minutes and after a reload. Two rechecks must agree.
                while hub.registrations().count > 1 {
                    let fault = try await OperatorClient(path: directory.path + "/control.sock")
                        .perform(ControlRequest("reload")) { _ in }
                    #expect(fault == nil)
                }
                #expect(hub.registrations().map(\.handle) == [handles[1]])
            }
        }
    }
}
