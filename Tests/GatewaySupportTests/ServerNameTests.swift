import GatewaySupport
import GatewayTesting
import Testing

@Suite("Names of servers in certificates")
struct ServerNameTests {
    private static let authority = TestAuthority()

    private func isValid(_ reference: String, _ names: String?, commonName: String = "server") -> Bool {
        let certificate = Self.authority.issue {
            $0.commonNames = [commonName]
            $0.alternativeName = names
        }
        return isValid(reference, certificate.der)
    }

    private func isValid(_ reference: String, _ der: [UInt8]) -> Bool {
        (try? ServerName(reference).verify(der)) != nil
    }

    @Test("A DNS name matches DNS names only, without case and with a dot at its end")
    func names() {
        for reference in ["auth.example.com", "AUTH.Example.COM", "auth.example.com."] {
            #expect(isValid(reference, "DNS:auth.example.com"))
            #expect(isValid(reference, "DNS:other.example.com,DNS:Auth.Example.Com"))
            for names in [
                "IP:192.0.2.1", "DNS:example.com", "DNS:x.auth.example.com", "DNS:auth.example.com.evil.test",
                "email:auth.example.com@example.com", "URI:https://auth.example.com/",
                "otherName:1.2.3.4;UTF8:auth.example.com", "RID:1.2.3.4", nil,
            ] {
                #expect(!isValid(reference, names, commonName: "auth.example.com"), "\(names ?? "none")")
            }
        }
        // Internationalised names are compared in the form of certificates.
        #expect(isValid("xn--bcher-kva.example", "DNS:XN--BCHER-KVA.example"))
        #expect(!isValid("bücher.example", "DNS:xn--bcher-kva.example"))
        #expect(isValid("notify_backend", "DNS:notify_backend"))
    }

    @Test("A wildcard stands for the whole left-most label")
    func wildcards() {
        #expect(isValid("auth.example.com", "DNS:*.example.com"))
        #expect(isValid("xn--bcher-kva.example.com", "DNS:*.example.com"))
        for (reference, names) in [
            ("example.com", "DNS:*.example.com"), ("a.auth.example.com", "DNS:*.example.com"),
            ("auth.example.com", "DNS:a*.example.com"), ("auth.example.com", "DNS:*h.example.com"),
            ("auth.example.com", "DNS:a*h.example.com"), ("auth.example.com", "DNS:*.*.com"),
            ("auth.example.com", "DNS:auth.*.com"), ("auth.example.com", "DNS:*.com"), ("example.com", "DNS:*.com"),
            ("auth.example.com", "DNS:*"), ("localhost", "DNS:*"),
            ("xn--bcher-kva.example.com", "DNS:xn--*.example.com"),
            ("192.0.2.1", "DNS:*.0.2.1"),
        ] {
            #expect(!isValid(reference, names), "\(reference) \(names)")
        }
    }

    @Test("An address matches addresses only, in any spelling")
    func addresses() {
        for (reference, names) in [
            ("192.0.2.1", "IP:192.0.2.1"), ("2001:db8::1", "IP:2001:db8:0:0:0:0:0:1"),
            ("[2001:DB8::1]", "IP:2001:db8::1"), ("192.0.2.1", "DNS:a.test,IP:198.51.100.1,IP:192.0.2.1"),
        ] {
            #expect(isValid(reference, names), "\(reference) \(names)")
            #expect(!isValid(reference, "IP:192.0.2.2,IP:2001:db8::2"))
            #expect(!isValid(reference, "DNS:192.0.2.1", commonName: reference))
            #expect(!isValid(reference, nil, commonName: reference))
        }
        #expect(!isValid("192.0.2.1", "IP:::ffff:192.0.2.1"))
    }

    @Test("What is no name of a server matches nothing")
    func malformed() {
        for reference in [
            "", ".", ".example.com", "..", "[]", "[auth.example.com", "auth.example.com\0", "auth..example.com",
        ] {
            #expect(!isValid(reference, "DNS:auth.example.com,DNS:*.example.com,IP:0.0.0.0"), "\(reference)")
        }
        #expect(!isValid("auth.example.com", []))
        #expect(!isValid("auth.example.com", [0x30, 0x82, 0xFF, 0xFF]))
        // A name with a NUL, which ends the text for C (CVE-2009-2408).
        let name = Array("auth.example.com\0.evil.test".utf8)
        let certificate = Self.authority.issue {
            $0.encodedAlternativeName = [0x30, UInt8(name.count + 2), 0x82, UInt8(name.count)] + name
        }
        #expect(!isValid("auth.example.com", certificate.der))
        // An extension that is no list of names.
        let broken = Self.authority.issue {
            $0.commonNames = ["auth.example.com"]
            $0.encodedAlternativeName = [0x30, 0x7F, 0x82]
        }
        #expect(!isValid("auth.example.com", broken.der))
    }

    @Test("The cases that the tests of clients share are decided as they say", arguments: ServerNameCase.all)
    func cases(_ example: ServerNameCase) {
        #expect(isValid("localhost", example.der) == example.isForName)
        #expect(isValid("127.0.0.1", example.der) == example.isForAddress)
    }

    @Test("The name for the TLS extension has no brackets, no last dot, and is no address")
    func indications() {
        #expect(ServerName("Auth.example.com.").indication == "Auth.example.com")
        #expect(ServerName("[::1]").indication == nil && ServerName("127.0.0.1").indication == nil)
        #expect(throws: ServerName.Mismatch.self) { try ServerName("[::1]").verify([]) }
        do throws(ServerName.Mismatch) { try ServerName("[::1]").verify([]) } catch {
            #expect(
                error.description == "the server's certificate is for another name: ::1 is not among the IP addresses "
                    + "of its subject alternative names")
        }
    }
}
