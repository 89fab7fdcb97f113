import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayHTTP

@Suite("Names in client certificates")
struct CertificateNameTests {
    private let root = TestAuthority()

    private func certificate(_ change: (inout TestAuthority.Request) -> Void) throws -> VerifiedCertificate? {
        let result = try ClientAuthorities.of(root).verify([root.issue(change).der], now: .test).result
        if case .verified(let certificate) = result { return certificate }
        // OpenSSL itself rejects a certificate with a malformed extension.
        #expect(["malformed", "untrusted"].contains(result.text))
        return nil
    }

    /// Encodes a subject alternative name with entries of one kind: 1 for e-mail, 2 for DNS, 6 for URI.
    private func encoded(_ entries: [(kind: UInt8, bytes: [UInt8])]) -> [UInt8] {
        let content = entries.flatMap { [0x80 | $0.kind, UInt8($0.bytes.count)] + $0.bytes }
        return [0x30, UInt8(content.count)] + content
    }

    @Test("A name with NUL, another control character or a byte that is not ASCII is counted but is no name")
    func control() throws {
        for bytes in [Array("alice\0.evil".utf8), Array("alice\n".utf8), [0x7F], [0xFF, 0xFE], [0]] {
            let encoded = encoded([(1, bytes), (1, Array("bob".utf8)), (2, bytes), (6, bytes)])
            let one = try #require(try certificate { $0.encodedAlternativeName = encoded })
            #expect(one.emailAddresses.count == 2 && one.emailAddresses[1] == "bob")
            for name in [one.emailAddresses[0], one.dnsNames[0], one.uris[0]] {
                #expect(!name.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "\(bytes)")
                #expect(!name.hasPrefix("alice"))
            }
        }
        let common = try #require(try certificate { $0.commonNames = ["alice\0evil", "b"] })
        #expect(common.commonNames == ["", "b"])
    }

    @Test("Every value is listed, in order, so that several are not taken for one")
    func several() throws {
        let one = try #require(
            try certificate {
                $0.alternativeName = "email:a@x,email:b@x,DNS:*.x,DNS:x"
                $0.commonNames = ["alice", "bob"]
            })
        #expect(one.emailAddresses == ["a@x", "b@x"])
        #expect(one.dnsNames == ["*.x", "x"])
        #expect(one.commonNames == ["alice", "bob"])
        #expect(one.uris.isEmpty)
    }

    @Test("A malformed subject alternative name makes the certificate invalid")
    func malformed() throws {
        for bytes in [[], [0x30], [0x30, 5, 0x81, 1], [0x04, 0], [0x30, 2, 0x82, 9]] as [[UInt8]] {
            #expect(try certificate { $0.encodedAlternativeName = bytes } == nil, "\(bytes)")
        }
    }

    @Test("A certificate with more than 64 names of a kind is not accepted")
    func bound() throws {
        for (count, isAccepted) in [(60, true), (64, true), (65, false)] {
            let name = (0..<count).map { "DNS:h\($0)" }.joined(separator: ",")
            #expect((try certificate { $0.alternativeName = name } != nil) == isAccepted, "\(count)")
        }
    }
}
