import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

@Suite("Kept results of client certificates")
struct PresentedCertificateTests {
    private let root = TestAuthority()

    @Test("A new revocation list ends an accepted certificate at the next use, and a later one restores it")
    func replaced() throws {
        let leaf = root.issue()
        let verifier = ClientCertificateVerifier(try .of(root, revoking: root.revocationList()))
        let certificate = PresentedCertificate([leaf.der], verifier: verifier, now: .test)
        #expect(certificate.result(now: .test).text == "CN=alice")
        #expect(verifier.replace(try .of(root, revoking: root.revocationList([leaf]))))
        #expect(certificate.result(now: .test).text == "revoked")
        #expect(verifier.replace(try .of(root, revoking: root.revocationList())))
        #expect(certificate.result(now: .test).text == "CN=alice")
        #expect(verifier.replace(try .of(TestAuthority("Other"))))
        #expect(certificate.result(now: .test).text == "untrusted")
    }

    @Test("Files that are the same replace nothing")
    func same() throws {
        let list = root.revocationList()
        let verifier = ClientCertificateVerifier(try .of(root, revoking: list))
        #expect(!verifier.replace(try .of(root, revoking: list)))
        #expect(verifier.generation == 0)
        #expect(verifier.replace(try .of(root)))
        #expect(verifier.generation == 1)
    }

    @Test("An accepted certificate expires on an open connection")
    func expires() throws {
        let leaf = root.issue { $0.validity = WallTime.test(plus: -10)...WallTime.test(plus: 10) }
        let certificate = PresentedCertificate(
            [leaf.der], verifier: ClientCertificateVerifier(try .of(root)), now: .test)
        #expect(certificate.result(now: .test(plus: 9)).text == "CN=alice")
        #expect(certificate.result(now: .test(plus: 11)).text == "expired")
    }

    @Test("When the revocation list is out of date, an accepted certificate is accepted no longer")
    func listExpires() throws {
        let verifier = ClientCertificateVerifier(try .of(root, revoking: root.revocationList()))
        let certificate = PresentedCertificate([root.issue().der], verifier: verifier, now: .test)
        #expect(certificate.result(now: .test(plus: 86_399)).text == "CN=alice")
        #expect(certificate.result(now: .test(plus: 86_401)).text == "unverifiable")
    }

    @Test("A rejected certificate is verified again after 30 s")
    func retried() throws {
        let leaf = root.issue { $0.validity = WallTime.test(plus: 10)...WallTime.test(plus: 100) }
        let certificate = PresentedCertificate(
            [leaf.der], verifier: ClientCertificateVerifier(try .of(root)), now: .test)
        #expect(certificate.result(now: .test(plus: 29)).text == "not-yet-valid")
        #expect(certificate.result(now: .test(plus: 31)).text == "CN=alice")
    }

    @Test("A resumed session uses the intermediate certificates of accepted chains, of which 16 are remembered")
    func resumed() throws {
        let verifier = ClientCertificateVerifier(try .of(root))
        func result(_ chain: [[UInt8]], isResumed: Bool) -> String {
            PresentedCertificate(chain, isResumed: isResumed, verifier: verifier, now: .test).result(now: .test).text
        }
        let middle = root.subordinate("Middle")
        let leaf = middle.issue()
        #expect(result([leaf.der], isResumed: true) == "untrusted")
        #expect(result([leaf.der, middle.der], isResumed: false) == "CN=alice")
        #expect(result([leaf.der], isResumed: true) == "CN=alice")
        // Rejected chains are not remembered.
        let foreign = TestAuthority("Other").subordinate("Foreign")
        #expect(result([foreign.issue().der, foreign.der], isResumed: false) == "untrusted")
        for number in 0..<ClientCertificateVerifier.maximumRemembered {
            let other = root.subordinate("Other \(number)")
            #expect(result([other.issue().der, other.der], isResumed: false) == "CN=alice")
        }
        #expect(result([leaf.der], isResumed: true) == "untrusted", "the oldest is forgotten")
        #expect(verifier.replace(try .of(root, revoking: root.revocationList())))
    }
}

@Suite("Forwarded client certificates")
struct ForwardedCertificatesTests {
    private let root = TestAuthority()

    private static func field(_ der: [UInt8]) -> String {
        ":" + String(decoding: Base64.encode(der, .standard), as: UTF8.self) + ":"
    }

    private func view(_ text: String) -> ByteBufferView { ByteBuffer(string: text).readableBytesView }

    @Test("A byte sequence and a list of them are parsed")
    func parsed() {
        #expect(ForwardedCertificates.chain(view(":AQID:"), []) == [[1, 2, 3]])
        #expect(
            ForwardedCertificates.chain(view(":AQID:"), [view(":BAUG:, :BwgJ:"), view(":Cg==:\t,\t:Cw==:")])
                == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10], [11]])
    }

    @Test(
        "Anything else is malformed",
        arguments: [
            "", ":", "::", "AQID", ":AQID", "AQID:", ":AQID:;a=1", ":AQID: ", ":AQ ID:", ":AQID::", ":AQI:", ":AQJ=:",
            ":A_-D:", "\"AQID\"", ":AQID:, :AQID:", ":====:", ":AQID:\0",
        ])
    func malformed(_ text: String) {
        #expect(ForwardedCertificates.chain(view(text), []) == nil)
        if text != ":AQID:, :AQID:", text != ":AQID: " {
            #expect(ForwardedCertificates.chain(view(":AQID:"), [view(text)]) == nil)
            #expect(ForwardedCertificates.chain(view(":AQID:"), [view(":AQID:," + text)]) == nil)
        }
    }

    @Test("A chain of more than 10 certificates is malformed")
    func bound() {
        let line = Array(repeating: ":AQ==:", count: 9).joined(separator: ",")
        #expect(ForwardedCertificates.chain(view(":AQ==:"), [view(line)])?.count == 10)
        #expect(ForwardedCertificates.chain(view(":AQ==:"), [view(line + ",:AQ==:")]) == nil)
        #expect(ForwardedCertificates.chain(view(":AQ==:"), [view(line), view(":AQ==:")]) == nil)
    }

    /// Returns the result for a head with these fields from a trusted proxy.
    private func result(
        _ forwarded: ForwardedCertificates, _ fields: [(RequestField, String)], now: WallTime = .test
    ) -> String? {
        var (head, forwarding) = (ByteBuffer(), ForwardingFields(.xForwardedFor))
        for (field, value) in fields {
            let start = head.writerIndex
            head.writeString(value)
            forwarding.process(field, start..<head.writerIndex)
        }
        return forwarded.result(of: forwarding, in: head, now: now)?.text
    }

    @Test("The gateway verifies a forwarded certificate itself")
    func verified() throws {
        let verifier = ClientCertificateVerifier(try .of(root))
        let forwarded = ForwardedCertificates(verifier)
        let middle = root.subordinate("Middle")
        let leaf = Self.field(middle.issue().der)
        #expect(result(forwarded, []) == nil)
        #expect(result(forwarded, [(.clientCertChain, Self.field(middle.der))]) == nil)
        #expect(result(forwarded, [(.clientCert, leaf)]) == "untrusted")
        #expect(result(forwarded, [(.clientCert, leaf), (.clientCertChain, Self.field(middle.der))]) == "CN=alice")
        #expect(result(forwarded, [(.clientCert, leaf), (.clientCert, leaf)]) == "malformed")
        #expect(result(forwarded, [(.clientCert, "x")]) == "malformed")
        let foreign = Self.field(TestAuthority("Other").issue().der)
        #expect(result(forwarded, [(.clientCert, foreign)]) == "untrusted")
    }

    @Test("A kept result follows a new revocation list")
    func kept() throws {
        let verifier = ClientCertificateVerifier(try .of(root, revoking: root.revocationList()))
        let (forwarded, leaf) = (ForwardedCertificates(verifier), root.issue())
        let fields: [(RequestField, String)] = [(.clientCert, Self.field(leaf.der))]
        #expect(result(forwarded, fields) == "CN=alice")
        #expect(result(forwarded, fields) == "CN=alice")
        #expect(forwarded.count == 1)
        verifier.replace(try .of(root, revoking: root.revocationList([leaf])))
        #expect(result(forwarded, fields) == "revoked")
        #expect(forwarded.count == 1)
    }

    @Test("1,024 results are kept")
    func capacity() throws {
        let forwarded = ForwardedCertificates(ClientCertificateVerifier(try .of(root)))
        for number in 0..<(ForwardedCertificates.capacity + 10) {
            let der: [UInt8] = [0x30, 2, UInt8(number >> 8), UInt8(number & 0xFF)]
            #expect(result(forwarded, [(.clientCert, Self.field(der))]) == "malformed")
        }
        #expect(forwarded.count == ForwardedCertificates.capacity)
    }
}
