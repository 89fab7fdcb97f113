import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayHTTP

@Suite("Verification of client certificates")
struct ClientAuthoritiesTests {
    private let root = TestAuthority()

    @Test("A certificate of the authority is verified, with its names")
    func right() throws {
        let leaf = root.issue {
            $0.units = ["dispatch", "night"]
            $0.alternativeName = "email:alice@example.com,URI:spiffe://example.com/alice,DNS:alice.example.com"
        }
        let verification = try ClientAuthorities.of(root).verify([leaf.der], now: .test)
        guard case .verified(let certificate) = verification.result else {
            return #expect(Bool(false), "\(verification.result)")
        }
        #expect(certificate.commonNames == ["alice"])
        #expect(certificate.organizationalUnits == ["dispatch", "night"])
        #expect(certificate.emailAddresses == ["alice@example.com"])
        #expect(certificate.uris == ["spiffe://example.com/alice"])
        #expect(certificate.dnsNames == ["alice.example.com"])
        #expect(verification.intermediates.isEmpty)
    }

    @Test("An expired certificate and one that is not valid yet are rejected")
    func time() throws {
        let authorities = try ClientAuthorities.of(root)
        let leaf = root.issue { $0.validity = WallTime.test(plus: -10)...WallTime.test(plus: 10) }
        #expect(authorities.result(leaf, now: .test(plus: -11)) == "not-yet-valid")
        #expect(authorities.result(leaf, now: .test(plus: -9)) == "CN=alice")
        #expect(authorities.result(leaf, now: .test(plus: 9)) == "CN=alice")
        #expect(authorities.result(leaf, now: .test(plus: 11)) == "expired")
        #expect(authorities.verify([leaf.der], now: .test).end == .test(plus: 10))
    }

    @Test("A certificate of another authority is rejected, even one of the same name")
    func foreign() throws {
        let authorities = try ClientAuthorities.of(root)
        #expect(authorities.result(TestAuthority("Other CA").issue()) == "untrusted")
        let twin = TestAuthority()
        #expect(authorities.result(twin.issue()) == "untrusted")
        // The client sends the foreign root along, which makes it no authority here.
        #expect(authorities.result(twin.issue(), twin) == "untrusted")
    }

    @Test("Only certificates with the extended key usage clientAuth are accepted")
    func usage() throws {
        let authorities = try ClientAuthorities.of(root)
        #expect(authorities.result(root.issue { $0.usage = "serverAuth,clientAuth" }) == "CN=alice")
        for usage in ["serverAuth", "emailProtection", "anyExtendedKeyUsage", nil] {
            #expect(authorities.result(root.issue { $0.usage = usage }) == "untrusted", "\(usage ?? "-")")
        }
    }

    @Test("Up to 4 intermediate authorities are accepted, in any order; a longer chain is rejected")
    func depth() throws {
        let authorities = try ClientAuthorities.of(root)
        var chain = [root]
        for number in 1...10 { chain.append(chain[number - 1].subordinate("Intermediate \(number)")) }
        for count in 0...10 {
            let presented = [chain[count].issue().der] + chain[1..<(count + 1)].map(\.der).reversed()
            let result = authorities.verify(presented, now: .test)
            #expect(result.result.text == (count <= 4 ? "CN=alice" : "untrusted"), "\(count)")
            if count <= 4 {
                #expect(Set(result.intermediates) == Set(chain[1..<(count + 1)].map(\.der)))
                let shuffled = [presented[0]] + presented.dropFirst().reversed()
                #expect(authorities.verify(shuffled, now: .test).result.text == "CN=alice")
            }
        }
        #expect(authorities.result(chain[2].issue(), chain[2]) == "untrusted", "an intermediate is missing")
    }

    @Test("An end-entity certificate cannot certify another")
    func leafAsIssuer() throws {
        let authorities = try ClientAuthorities.of(root)
        let (middle, other) = (root.subordinate("Middle"), root.issue())
        #expect(authorities.verify([middle.issue().der, other.der], now: .test).result.text == "untrusted")
    }

    @Test("An intermediate authority can be trusted without its root")
    func partialChain() throws {
        let middle = root.subordinate("Middle")
        let authorities = try ClientAuthorities.of(middle)
        #expect(authorities.result(middle.issue()) == "CN=alice")
        #expect(authorities.result(root.issue()) == "untrusted")
        let revoked = middle.issue()
        let checking = try ClientAuthorities.of(middle, revoking: middle.revocationList([revoked]))
        #expect(checking.result(middle.issue()) == "CN=alice")
        #expect(checking.result(revoked) == "revoked")
    }

    @Test("A revoked certificate is rejected, and one below a revoked authority")
    func revocation() throws {
        let middle = root.subordinate("Middle")
        let (good, bad, below) = (root.issue(), root.issue(), middle.issue())
        let both = try ClientAuthorities.of(
            root, revoking: root.revocationList([bad]) + middle.revocationList([below]))
        #expect(both.result(good) == "CN=alice")
        #expect(both.result(bad) == "revoked")
        #expect(both.result(below, middle) == "revoked")
        #expect(both.result(middle.issue(), middle) == "CN=alice")
        #expect(both.verify([good.der], now: .test).end == both.revocationEnd)
    }

    @Test("Without a current revocation list, nobody is accepted")
    func staleLists() throws {
        let leaf = root.issue()
        let authorities = try ClientAuthorities.of(root, revoking: root.revocationList())
        let end = try #require(authorities.revocationEnd)
        #expect(end == .test(plus: 86_400))
        #expect(authorities.result(leaf, now: .test(plus: 86_401)) == "unverifiable")
        // The authority below the root has no list.
        let middle = root.subordinate("Middle")
        #expect(authorities.result(middle.issue(), middle) == "unverifiable")
    }

    @Test("A chain that is malformed, too long or empty is rejected")
    func malformed() throws {
        let authorities = try ClientAuthorities.of(root)
        let leaf = root.issue().der
        for chain in [[[]], [[0x30]], [Array(leaf.dropLast())], [leaf + [0]], [leaf, [1, 2, 3]]] as [[[UInt8]]] {
            #expect(authorities.verify(chain, now: .test).result.text == "malformed")
        }
        #expect(authorities.verify([], now: .test).result.text == "untrusted")
        let long = Array(repeating: leaf, count: ClientAuthorities.maximumPresented + 1)
        #expect(authorities.verify(long, now: .test).result.text == "untrusted")
        // Any byte that changes makes the signature or the encoding invalid.
        for index in stride(from: 0, to: leaf.count, by: 7) {
            var changed = leaf
            changed[index] ^= 0x55
            #expect(
                ["malformed", "untrusted", "expired", "not-yet-valid"].contains(
                    authorities.verify([changed], now: .test).result.text), "byte \(index)")
        }
    }

    @Test("Files without authorities or with unusable revocation lists are errors")
    func files() throws {
        let leaf = root.issue()
        for text in ["", "nothing", leaf.key, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            #expect(throws: ClientAuthoritiesError.noAuthority) {
                try ClientAuthorities(authorities: text, now: .test)
            }
        }
        #expect(throws: ClientAuthoritiesError.notAnAuthority("CN=alice")) {
            try ClientAuthorities(authorities: root.certificate + leaf.certificate, now: .test)
        }
        func load(_ list: String) throws { _ = try ClientAuthorities.of(root, revoking: list) }
        let name = "CN=Test Client CA"
        #expect(throws: ClientAuthoritiesError.noRevocationList) { try load("") }
        #expect(throws: ClientAuthoritiesError.noRevocationList) { try load(root.certificate) }
        let old = root.revocationList(validity: WallTime.test(plus: -100)...WallTime.test(plus: -1))
        #expect(throws: ClientAuthoritiesError.outdatedRevocationList(name, .test(plus: -1))) { try load(old) }
        let future = root.revocationList(validity: WallTime.test(plus: 5)...WallTime.test(plus: 9))
        #expect(throws: ClientAuthoritiesError.futureRevocationList(name, .test(plus: 5))) { try load(future) }
        // A list of an authority with the same name has another signature.
        #expect(throws: ClientAuthoritiesError.missingRevocationList(name)) {
            try load(TestAuthority().revocationList())
        }
    }
}
