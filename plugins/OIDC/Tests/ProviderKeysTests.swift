import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOSSL
import Synchronization
import Testing

@testable import OIDC

@Suite("Keys of the provider")
struct ProviderKeysTests {
    @Test("The keys are read once for all tokens, by discovery or from a URL")
    func start() async throws {
        let provider = try await TestProvider.start()
        let authenticator = try await provider.authenticator()
        for _ in 0..<3 { #expect(await authenticator.present(provider.token()) == identity("alice")) }
        #expect(provider.server.seen.map(\.target) == ["/.well-known/openid-configuration", "/keys"])
        #expect(provider.server.seen.allSatisfy { $0.values("Authorization").isEmpty && $0.body.isEmpty })
        let direct = try await provider.authenticator { $0.keys = .url(provider.issuer + "/keys") }
        #expect(await direct.present(provider.token()) == identity("alice"))
        #expect(provider.server.seen.count == 3)
        #expect(
            authenticator.providerKeys
                == ProviderKeyStatus(issuer: provider.issuer, count: 1, read: .test, failures: 0))
        await provider.server.stop()
    }

    @Test("Without keys the issuer's tokens are unavailable and others go on; the keys are read later")
    func awayAtStart() async throws {
        let provider = try await TestProvider.start()
        provider.respond([.write(ScriptedServer.response("503 Service Unavailable"))])
        let authenticator = try await provider.authenticator(isLast: false)
        #expect(await authenticator.present(provider.token()) == .unavailable(.unreachable))
        #expect(await authenticator.present("other.token") == .notMine)
        #expect(await authenticator.present(Forge.token()) == .notMine)
        // What no key could save is rejected nevertheless.
        #expect(await authenticator.present(provider.token(nil, ["aud": "\"x\""])) == .rejected(.untrusted))
        #expect(provider.server.seen.count == 2)
        provider.respond(nil)
        await authenticator.keys.refreshIfDue()
        #expect(await authenticator.present(provider.token()) == identity("alice"))
        #expect(authenticator.providerKeys.count == 1 && authenticator.providerKeys.failures == 2)
        await provider.server.stop()
    }

    @Test("An unknown key is looked up at most once in 30 s, whoever presents it")
    func unknownKey() async throws {
        let provider = try await TestProvider.start()
        let authenticator = try await provider.authenticator()
        for number in 0..<20 {
            let token = provider.token("unknown-\(number)", key: .otherRSA, ["sub": "\"user-\(number)\""])
            #expect(await authenticator.present(token) == .rejected(.untrusted))
        }
        #expect(provider.server.seen.count == 4)
        provider.clock.advance(by: .seconds(29))
        // This token is newer than the keys, so nobody knows whether its key is the provider's.
        #expect(await authenticator.present(provider.token("later", key: .otherRSA)) == .unavailable(.unreachable))
        #expect(provider.server.seen.count == 4)
        provider.clock.advance(by: .seconds(1))
        #expect(await authenticator.present(provider.token("later", key: .otherRSA)) == .rejected(.untrusted))
        #expect(provider.server.seen.count == 6)
        #expect(await authenticator.present(provider.token()) == identity("alice"))
        await provider.server.stop()
    }

    @Test("A token that no key could save causes no request")
    func forgeries() async throws {
        let provider = try await TestProvider.start()
        let authenticator = try await provider.authenticator()
        for header in TokenForgeryTests.headers {
            #expect(await authenticator.present(provider.token(header: header)) == .rejected(.untrusted))
        }
        for changes in [["aud": "\"other\""], ["exp": "1"], ["sub": "\"A\""], ["sub": ""], ["events": "{}"]] {
            #expect(!(await authenticator.present(provider.token("unknown", key: .otherRSA, changes)).isGrant))
        }
        #expect(await authenticator.present(provider.token(key: .otherRSA)) == .rejected(.untrusted))
        #expect(await authenticator.present(String(repeating: "A", count: 65_536)) == .rejected(.malformed))
        #expect(await authenticator.present(Forge.token(kid: "unknown")) == .rejected(.untrusted))
        #expect(provider.server.seen.count == 2)
        await provider.server.stop()
    }

    @Test("A new key works at its first token, and a removed one no longer after the next reading")
    func rotation() async throws {
        let provider = try await TestProvider.start()
        let authenticator = try await provider.authenticator()
        let old = provider.token()
        #expect(await authenticator.present(old) == identity("alice"))
        provider.clock.advance(by: .seconds(5))
        provider.setKeys([TestKey.rsa.jwk("k1"), TestKey.p256.jwk("k2")])
        #expect(await authenticator.present(provider.token("k2", key: .p256)) == identity("alice"))
        #expect(await authenticator.present(old) == identity("alice"))
        provider.setKeys([TestKey.p256.jwk("k2")])
        provider.clock.advance(by: .seconds(15 * 60 - 1))
        await authenticator.keys.refreshIfDue()
        #expect(await authenticator.present(old) == identity("alice"))
        provider.clock.advance(by: .seconds(1))
        await authenticator.keys.refreshIfDue()
        // The cache of verified tokens does not keep it either.
        #expect(await authenticator.present(old) == .rejected(.untrusted))
        #expect(await authenticator.present(provider.token("k2", key: .p256)) == identity("alice"))
        await provider.server.stop()
    }

    @Test("Keys change while tokens are verified: no valid token is rejected")
    func rotationUnderLoad() async throws {
        let provider = try await TestProvider.start()
        var former = TestKey.p256
        provider.setKeys([former.jwk("k0")])
        let authenticator = try await provider.authenticator()
        for number in 1...10 {
            let next = TestKey.fresh()
            provider.setKeys([former.jwk("k\(number - 1)"), next.jwk("k\(number)")])
            provider.clock.advance(by: .seconds(31))
            let tokens = (0..<16).map { user in
                // Half of the callers have a token of the new key, which only a reading makes known.
                let (id, key) = user.isMultiple(of: 2) ? (number, next) : (number - 1, former)
                return provider.token("k\(id)", key: key, ["sub": "\"user-\(user)\""])
            }
            let outcomes = await withTaskGroup(of: AuthenticationOutcome.self) { group in
                for token in tokens { group.addTask { await authenticator.present(token) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count == 16 && outcomes.allSatisfy { $0.isGrant }, "\(outcomes)")
            former = next
        }
        await provider.server.stop()
    }

    /// Makes an authenticator with the key k0, and with k1 in the provider's next response. No reading on demand is allowed
    /// for 30 s. `interleave` runs once: before the verification that follows `arm()`, when the old keys are taken already.
    private func raced(
        _ provider: TestProvider, _ next: TestKey
    ) async throws -> (authenticator: OIDCAuthenticator, arm: @Sendable () -> Void) {
        provider.setKeys([TestKey.p256.jwk("k0")])
        let isArmed = Mutex(false)
        let box = Mutex<OIDCAuthenticator?>(nil)
        let changed = try KeySet(Array(Forge.set([TestKey.p256.jwk("k0"), next.jwk("k1")]).utf8))
        let clock = provider.clock
        let authenticator = try await provider.authenticator(
            clocks: Clocks(
                monotonic: {
                    let now = clock.clocks.monotonic()
                    let isNow = isArmed.withLock { armed in
                        defer { armed = false }
                        return armed
                    }
                    guard isNow, let authenticator = box.withLock({ $0 }) else { return now }
                    // Another call's reading ends now.
                    authenticator.keys.replace(with: changed, read: (clock.clocks.wall(), now))
                    return now
                }, wall: clock.clocks.wall))
        box.withLock { $0 = authenticator }
        // Uses up the reading on demand.
        #expect(await authenticator.present(provider.token("none", key: next)) == .rejected(.untrusted))
        return (authenticator, { isArmed.withLock { $0 = true } })
    }

    @Test("A token is not rejected by keys that changed while it was verified", arguments: [false, true])
    func race(isImmediate: Bool) async throws {
        let provider = try await TestProvider.start()
        let next = TestKey.fresh()
        let (authenticator, arm) = try await raced(provider, next)
        let token = provider.token("k1", key: next)
        // The second reading of the clock is the one after the verification with the old keys.
        let seen = provider.server.seen.count
        if isImmediate {
            _ = authenticator.keys.current()
            let credential = Credential.bearer(token: Secret(token.utf8))
            let outcome = authenticator.keys.verifyImmediately { verifier in
                arm()
                return verifier.verify(Secret(token.utf8), at: provider.clock.clocks.wall())
            }
            #expect(outcome?.0.result(in: authenticator.context).isGrant == true)
            #expect(authenticator.immediateOutcome(on: credential, from: .gateway)?.isGrant == true)
        } else {
            let outcome = await authenticator.keys.verify { verifier in
                arm()
                return verifier.verify(Secret(token.utf8), at: provider.clock.clocks.wall())
            }
            #expect(outcome?.0.result(in: authenticator.context).isGrant == true)
        }
        #expect(provider.server.seen.count == seen)
        await provider.server.stop()
    }

    @Test("A token whose signature fails with the old key of its id is verified with the new one")
    func replacedKey() async throws {
        let provider = try await TestProvider.start()
        let next = TestKey.fresh()
        provider.setKeys([TestKey.p256.jwk("k1")])
        let authenticator = try await provider.authenticator()
        let changed = try KeySet(Array(Forge.set([next.jwk("k1")]).utf8))
        let token = Secret(provider.token("k1", key: next).utf8)
        #expect(await authenticator.present(provider.token("k1", key: next)) == .rejected(.untrusted))
        let isFirst = Mutex(true)
        let outcome = authenticator.keys.verifyImmediately { verifier in
            let outcome = verifier.verify(token, at: provider.clock.clocks.wall())
            if isFirst.withLock({ first in
                defer { first = false }
                return first
            }) {
                let clocks = provider.clock.clocks
                authenticator.keys.replace(with: changed, read: (clocks.wall(), clocks.monotonic()))
            }
            return outcome
        }
        #expect(outcome?.0.result(in: authenticator.context).isGrant == true)
        await provider.server.stop()
    }

    @Test("Calls that find a reading in progress or just ended are decided by its keys")
    func joined() async throws {
        let provider = try await TestProvider.start()
        provider.setKeys([TestKey.p256.jwk("k0")])
        let authenticator = try await provider.authenticator { $0.keys = .url(provider.issuer + "/keys") }
        let next = TestKey.fresh()
        provider.clock.advance(by: .seconds(31))
        let answer = Signal()
        let keys = Forge.set([TestKey.p256.jwk("k0"), next.jwk("k1")])
        provider.respond([.wait(answer), .write(ScriptedServer.ok(keys)), .close])
        let tokens = (0..<20).map { provider.token("k1", key: next, ["sub": "\"user-\($0)\""]) }
        let outcomes = await withTaskGroup(of: AuthenticationOutcome.self) { group in
            for token in tokens { group.addTask { await authenticator.present(token) } }
            answer.raise()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 20 && outcomes.allSatisfy { $0.isGrant }, "\(outcomes)")
        await provider.server.stop()
    }

    @Test("Keys that cannot be read again serve for 24 hours")
    func stale() async throws {
        let provider = try await TestProvider.start()
        let authenticator = try await provider.authenticator()
        let token = provider.token()
        await provider.server.stop()
        for hour in 0..<24 {
            #expect(await authenticator.present(token) == identity("alice"), "hour \(hour)")
            provider.clock.advance(by: .seconds(3600))
            if hour % 8 == 0 { await authenticator.keys.refreshIfDue() }
        }
        #expect(await authenticator.present(token) == .unavailable(.unreachable))
        #expect(authenticator.providerKeys.count == 0 && authenticator.providerKeys.read == nil)
    }

    @Test(
        "A response that is not a key set changes nothing, and is not followed anywhere",
        arguments: [
            "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:1/keys\r\n\r\n",
            "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: /keys2\r\n\r\n",
            "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 201 Created\r\nContent-Length: 11\r\n\r\n{\"keys\":[]}",
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"keys\":",
            "HTTP/1.1 200 OK\r\nContent-Length: BIG\r\n\r\nBODY",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nSIZE\r\nBODY\r\n0\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
            "\u{0}\u{0}\r\n\r\n", "",
        ])
    func lies(_ response: String) async throws {
        let provider = try await TestProvider.start()
        let authenticator = try await provider.authenticator { $0.keys = .url(provider.issuer + "/keys") }
        let body = "{\"keys\":[],\"pad\":\"" + String(repeating: "x", count: 1_048_576) + "\"}"
        provider.respond([
            .write(
                response.replacing("BIG", with: "\(body.utf8.count)").replacing("BODY", with: body)
                    .replacing("SIZE", with: String(body.utf8.count, radix: 16))), .close,
        ])
        await authenticator.keys.refresh()
        #expect(authenticator.providerKeys.count == 1 && authenticator.providerKeys.failures == 1)
        #expect(await authenticator.present(provider.token()) == identity("alice"))
        #expect(provider.server.seen.count == 2)
        await provider.server.stop()
    }

    @Test("A discovery document that is not the issuer's, or names an unsafe URL, is not used")
    func discovery() async throws {
        let provider = try await TestProvider.start()
        for document in [
            #"{"issuer":"https://evil.example","jwks_uri":"ISSUER/keys"}"#, #"{"jwks_uri":"ISSUER/keys"}"#,
            #"{"issuer":"ISSUER/","jwks_uri":"ISSUER/keys"}"#, #"{"issuer":"ISSUER"}"#,
            #"{"issuer":"ISSUER","jwks_uri":"http://192.0.2.1/keys"}"#,
            #"{"issuer":"ISSUER","jwks_uri":"file:///etc/passwd"}"#,
            #"{"issuer":"ISSUER","jwks_uri":"ISSUER/keys","jwks_uri":"ISSUER/keys"}"#, "[]", "",
        ] {
            provider.state.withLock { $0.discovery = { document.replacing("ISSUER", with: $0) } }
            let authenticator = try await provider.authenticator()
            let keys = authenticator.providerKeys
            #expect(keys.count == 0 && keys.read == nil && keys.failures == 1, "\(document)")
        }
        #expect(provider.server.seen.allSatisfy { $0.target == "/.well-known/openid-configuration" })
        // A provider elsewhere may not send requests to this machine.
        #expect(ProviderURL.fault(in: "http://127.0.0.1:9090/metrics", allowsPlaintext: false) != nil)
        await provider.server.stop()
    }

    @Test("A slow provider delays nobody who has a known key, and at most 64 calls wait for it")
    func slow() async throws {
        let provider = try await TestProvider.start()
        let authenticator = try await provider.authenticator()
        let answer = Signal()
        provider.respond([.wait(answer), .write(ScriptedServer.response("503 Service Unavailable")), .close])
        let token = provider.token("unknown", key: .otherRSA)
        let outcomes = await withTaskGroup(of: AuthenticationOutcome.self) { group in
            for _ in 0..<80 { group.addTask { await authenticator.present(token) } }
            var outcomes: [AuthenticationOutcome] = []
            // The calls beyond the 64 waiting ones end at once.
            for _ in 0..<16 { if let outcome = await group.next() { outcomes.append(outcome) } }
            #expect(outcomes == [AuthenticationOutcome](repeating: .unavailable(.busy), count: 16))
            #expect(await authenticator.present(provider.token()) == identity("alice"))
            let known = Credential.bearer(token: Secret(provider.token().utf8))
            #expect(authenticator.immediateOutcome(on: known, from: .gateway) != nil)
            answer.raise()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 64)
        // The keys of the start are as old as the tokens, so they decide.
        #expect(Set(outcomes) == [.rejected(.untrusted)])
        #expect(provider.server.seen.count == 3)
        await provider.server.stop()
    }

    @Test("A provider that does not respond costs a reading its deadline")
    func deadline() async throws {
        let provider = try await TestProvider.start()
        provider.respond([.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")])
        let authenticator = try await provider.authenticator()
        #expect(authenticator.providerKeys.count == 0 && authenticator.providerKeys.failures == 1)
        await provider.server.stop()
    }

    @Test("The timer reads the keys again after a failure")
    func timer() async throws {
        let provider = try await TestProvider.start()
        provider.respond([.write(ScriptedServer.response("503 Service Unavailable"))])
        let authenticator = try await provider.authenticator()
        authenticator.keys.startTimer(interval: .milliseconds(10))
        await provider.server.wait { $0.seen.count >= 3 }
        provider.respond(nil)
        await provider.server.wait { $0.seen.last?.target == "/keys" }
        await provider.server.stop()
    }

    @Test("The names of each of the provider's servers are verified", arguments: ServerNameCase.all)
    func names(_ example: ServerNameCase) async throws {
        let files = try TestFiles()
        let authority = try files.write(ServerNameCase.authority, to: "ca.pem")
        let context = try example.certificate.serverContext()
        let provider = try await TestProvider.start(scheme: "https") {
            try $0.addHandler(NIOSSLServerHandler(context: context))
        }
        // The keys are at the same server under both of its names.
        for (issuer, keys, isValid) in [
            ("localhost", "localhost", example.isForName), ("127.0.0.1", "127.0.0.1", example.isForAddress),
            ("localhost", "127.0.0.1", example.isForName && example.isForAddress),
        ] {
            let port = provider.server.port
            provider.state.withLock {
                $0.discovery = { _ in
                    #"{"issuer":"https://\#(issuer):\#(port)","jwks_uri":"https://\#(keys):\#(port)/keys"}"#
                }
            }
            let authenticator = try await provider.authenticator {
                $0.issuer = "https://\(issuer):\(port)"
                $0.authorities = authority
            }
            #expect(authenticator.providerKeys.count == (isValid ? 1 : 0), "\(issuer), \(keys)")
        }
        if !example.isForName, !example.isForAddress { #expect(provider.server.seen.isEmpty) }
        await provider.server.stop()
    }

    @Test("The provider's certificate is verified")
    func certificates() async throws {
        let files = try TestFiles()
        let authority = try files.write(TestCertificate.authority, to: "ca.pem")
        for (certificate, count) in [
            (TestCertificate.one, 1), (TestCertificate.elsewhere, 0), (TestCertificate.expired, 0),
        ] {
            let context = try certificate.serverContext()
            let provider = try await TestProvider.start(scheme: "https") {
                try $0.addHandler(NIOSSLServerHandler(context: context))
            }
            let authenticator = try await provider.authenticator { $0.authorities = authority }
            #expect(authenticator.providerKeys.count == count)
            // The system does not know the authority.
            #expect(try await provider.authenticator().providerKeys.count == 0)
            await provider.server.stop()
        }
    }
}
