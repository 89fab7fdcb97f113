import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Synchronization
import Testing

@testable import Gateway

/// Valid credentials from an address from which others send invalid ones.
@Suite("Tokens beside guesses of the same address")
struct TokensBesideGuessesTests {
    private func whoami(_ field: String) -> ReceivedRequest {
        ReceivedRequest("GET /auth/whoami", authorization: .text(field), peer: .v4(7))
    }

    @Test(
        "600 invalid tokens, malformed fields or invalid certificates exhaust the limit, and valid tokens are not affected",
        arguments: ["Bearer garbage", "Bearer expired.alice", "Bearer a b", "Basic !!!", "Digest x"])
    func valid(_ invalid: String) async {
        let clock = ManualClock()
        let gateway = TestGateway(asking: SigningAuthenticator(), credentialKinds: [.bearer, .password]) {
            $0.limiter = Limiter(Limit.defaults, clocks: clock.clocks)
        }
        for _ in 0..<600 { #expect(await gateway.serve(whoami(invalid)).status == 401) }
        for number in 0..<50 {
            #expect(await gateway.serve(whoami(invalid)).status == 429)
            #expect(await gateway.serve(whoami("Bearer valid.user\(number)")).status == 200)
        }
    }

    @Test("A token that a service accepted before is not affected either; a rejected one pays again")
    func remembered() async {
        let clock = ManualClock()
        let revoked = Mutex<Set<String>>([])
        let queries = Mutex(0)
        let gateway = TestGateway(
            asking: ScriptedAuthenticator { credential, _ in
                guard case .bearer(let token) = credential else { return .notMine }
                let text = token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
                queries.withLock { $0 += 1 }
                guard text.hasPrefix("valid"), !revoked.withLock({ $0.contains(text) }) else {
                    return .rejected(.untrusted)
                }
                return .accepted(Identity(user: .test("alice"), authenticator: "asked"))
            }, credentialKinds: [.bearer]
        ) { $0.limiter = Limiter(Limit.defaults, clocks: clock.clocks) }
        #expect(await gateway.serve(whoami("Bearer valid-1")).status == 200)
        for _ in 0..<600 { #expect(await gateway.serve(whoami("Bearer garbage")).status == 401) }
        #expect(await gateway.serve(whoami("Bearer garbage")).status == 429)
        for _ in 0..<50 { #expect(await gateway.serve(whoami("Bearer valid-1")).status == 200) }
        // The service is not queried about a token that it does not know yet.
        #expect(await gateway.serve(whoami("Bearer valid-2")).status == 429)
        #expect(queries.withLock { $0 } == 651)
        revoked.withLock { _ = $0.insert("valid-1") }
        #expect(await gateway.serve(whoami("Bearer valid-1")).status == 401)
        #expect(await gateway.serve(whoami("Bearer valid-1")).status == 429)
    }

    @Test("The table of known tokens is bounded and keeps those in use")
    func bounded() {
        let known = KnownTokens(capacity: 100)
        func key(_ number: Int) -> KnownTokens.Key? {
            KnownTokens.key(of: .bearer(token: Secret("token-\(number)".utf8)))
        }
        let accepted = AuthenticationOutcome.accepted("alice", by: "asked")
        for number in 0..<1000 {
            known.record(accepted, of: key(number))
            #expect(known.contains(key(0)))
        }
        #expect((0..<1000).count { known.contains(key($0)) } == 100)
        known.record(.unavailable(.failed), of: key(0))
        #expect(known.contains(key(0)))
        known.record(.rejected(.revoked), of: key(0))
        #expect(!known.contains(key(0)))
    }
}
