import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConsole

@Suite("Logins in progress at the identity provider")
struct PendingLoginsTests {
    private let clock = ManualClock()
    private let epoch = RevocationEpoch(count: 0)

    private func begin(_ pending: PendingLogins, from address: Peer.Address = .local) throws -> PendingLogins.Beginning
    {
        try #require(
            pending.begin(
                .session, next: "/", redirectURI: "https://c.example/login/callback", epoch: epoch,
                from: Peer(address: address, text: "")))
    }

    @Test("State, nonce, verifier and cookie are random, and the challenge is the digest of the verifier")
    func values() throws {
        let pending = PendingLogins(clocks: clock.clocks)
        let (one, two) = (try begin(pending), try begin(pending))
        let texts = [one, two].flatMap { [$0.request.state, $0.request.nonce, $0.cookie, $0.request.codeChallenge] }
        #expect(Set(texts).count == 8 && texts.allSatisfy { $0.utf8.count == RandomText.length })
        let login = try #require(pending.remove(state: one.request.state, cookie: one.cookie))
        let digest = login.verifier.withUnsafeBytes { SHA256.digest($0) } ?? []
        #expect(String(decoding: Base64.encode(digest, .url), as: UTF8.self) == one.request.codeChallenge)
        #expect(login.nonce == one.request.nonce && !one.request.requiresNewProof)
        #expect((43...128).contains(login.verifier.count))
    }

    @Test("A login is completed once, by its browser, within ten minutes")
    func completion() throws {
        let pending = PendingLogins(clocks: clock.clocks)
        let first = try begin(pending)
        #expect(pending.remove(state: "", cookie: first.cookie) == nil)
        #expect(pending.remove(state: RandomText.make(), cookie: first.cookie) == nil)
        #expect(pending.remove(state: first.request.state, cookie: first.cookie) != nil)
        #expect(pending.remove(state: first.request.state, cookie: first.cookie) == nil)
        // A wrong cookie uses the state up.
        for cookie in ["", RandomText.make()] {
            let stolen = try begin(pending)
            #expect(pending.remove(state: stolen.request.state, cookie: cookie) == nil)
            #expect(pending.remove(state: stolen.request.state, cookie: stolen.cookie) == nil)
        }
        let (old, young) = (try begin(pending), try begin(pending))
        clock.advance(by: PendingLogins.lifetime - .seconds(1))
        #expect(pending.remove(state: young.request.state, cookie: young.cookie) != nil)
        clock.advance(by: .seconds(1))
        #expect(pending.remove(state: old.request.state, cookie: old.cookie) == nil)
    }

    @Test("A full table replaces the oldest login, first that of an address with too many")
    func bounds() throws {
        let pending = PendingLogins(clocks: clock.clocks)
        let victim = try begin(pending, from: .v4(1))
        var first: PendingLogins.Beginning?
        for number in 0...PendingLogins.maximumOfAddress {
            let beginning = try begin(pending, from: .v4(2))
            if number == 0 { first = beginning }
        }
        #expect(pending.count == PendingLogins.maximumOfAddress + 1)
        let replaced = try #require(first)
        #expect(pending.remove(state: replaced.request.state, cookie: replaced.cookie) == nil)
        #expect(pending.remove(state: victim.request.state, cookie: victim.cookie) != nil)
        for number in 0..<PendingLogins.maximum { _ = try begin(pending, from: .v4(UInt32(3 + number / 50))) }
        #expect(pending.count == PendingLogins.maximum)
    }
}
