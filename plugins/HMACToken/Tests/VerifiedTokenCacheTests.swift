import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import HMACToken

@Suite("The cache of verified tokens")
struct VerifiedTokenCacheTests {
    private static let keys = """
        keys:
          - { id: k2, algorithm: HS256, secret: "\(Forge.secret())", not-after: 2026-11-21T07:30:00Z }
          - { id: k3, algorithm: HS256, secret: "\(Forge.secret(32, offset: 1))", issue: false }
        """

    private static func verifier(_ keys: String = keys) throws -> TokenVerifier {
        let files = try TestFiles()
        let file = try files.write(keys)
        return TokenVerifier(try KeyRing(file, names: NameRules()), settings: .init(keys: file), names: NameRules())
    }

    private static func at(_ seconds: Int64) -> WallTime { WallTime(seconds: WallTime.test.seconds + seconds) }

    private static func isAccepted(_ verdict: TokenVerifier.Outcome) -> Bool {
        if case .accepted(let identity) = verdict { identity.user.text == "alice" } else { false }
    }

    private static func rejection(_ verdict: TokenVerifier.Outcome) -> InvalidCredentialReason? {
        if case .rejected(let reason) = verdict { reason } else { nil }
    }

    @Test("A cached token is rejected before its start, after its expiry, and after its key expired")
    func ends() throws {
        let skew = HMACTokenPlugin.skew.components.seconds
        let verifier = try Self.verifier()
        let bound = Secret(Array(Forge.token().utf8))
        #expect(Self.isAccepted(verifier.verify(bound, at: Self.at(0))))
        #expect(Self.isAccepted(verifier.verify(bound, at: Self.at(1799))))
        #expect(Self.rejection(verifier.verify(bound, at: Self.at(1800))) == .untrusted)
        let claims = Forge.claims(["nbf": "1795244500"])
        let header = #"{"alg":"HS256","kid":"k3"}"#
        let free = Secret(
            Array(Forge.token(header: header, claims: claims, key: (Forge.bytes + Forge.bytes)[1..<33]).utf8))
        let (begin, end) = (1_795_244_500 - skew, 1_795_248_000 + skew)
        for _ in 0..<2 {
            #expect(Self.isAccepted(verifier.verify(free, at: WallTime(seconds: begin))))
            #expect(Self.rejection(verifier.verify(free, at: WallTime(seconds: begin - 1))) == .notYetValid)
            #expect(Self.isAccepted(verifier.verify(free, at: WallTime(seconds: end - 1))))
            #expect(Self.rejection(verifier.verify(free, at: WallTime(seconds: end))) == .expired)
        }
    }

    @Test("A changed, truncated or extended token does not pass for a cached one")
    func changed() throws {
        let verifier = try Self.verifier()
        let good = Array(Forge.token().utf8)
        #expect(Self.isAccepted(verifier.verify(Secret(good), at: Self.at(0))))
        var others = [good + [UInt8(ascii: "A")], good + good, []]
        for place in good.indices {
            others.append(Array(good[..<place]))
            var other = good
            other[place] = other[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            others.append(other)
        }
        for other in others { #expect(!Self.isAccepted(verifier.verify(Secret(other), at: Self.at(0)))) }
        #expect(Self.isAccepted(verifier.verify(Secret(good), at: Self.at(0))))
    }

    @Test("A cached token is rejected once it is revoked")
    func revoked() async throws {
        let revocations = Revocations()
        let base = PluginContext.test()
        let authenticator = try await testAuthenticator(
            PluginContext(
                logger: base.logger, blockingPool: base.blockingPool, clocks: base.clocks, names: base.names,
                isLastOfItsKind: true, revocations: revocations))
        for isRevoked in [false, true, false] {
            revocations.all.store(isRevoked, ordering: .relaxed)
            let expected = isRevoked ? AuthenticationOutcome.rejected(.revoked) : identity("alice")
            #expect(await authenticator.present(Forge.token()) == expected)
        }
    }

    private final class Revocations: RevocationList {
        let all = Atomic(false)

        func isRevoked(_ token: TokenReference, of user: UserName) -> Bool { all.load(ordering: .relaxed) }
    }
}
