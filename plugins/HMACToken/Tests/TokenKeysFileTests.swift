import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import HMACToken

@Suite("Rotation of keys")
struct TokenKeysFileTests {
    private let files: TestFiles
    private let path: String
    private let alice: UserName

    init() throws {
        files = try TestFiles()
        path = files.path + "/token-keys.yaml"
        alice = try #require(UserName(canonical: "alice"))
    }

    private func later(_ seconds: Int64) -> WallTime { WallTime(seconds: WallTime.test.seconds + seconds) }

    @Test("The first rotation makes a private file with a key that signs", arguments: TokenAlgorithm.allCases)
    func creating(algorithm: TokenAlgorithm) async throws {
        var file = try TokenKeysFile.load(path)
        #expect(file.keys.isEmpty)
        let fresh = try file.rotate(now: WallTime.test, overlap: .seconds(3660), algorithm: algorithm)
        try file.write()
        #expect(fresh.id == "k20261121T070000Z")
        #expect(fresh.secret.count == algorithm.keyByteCount)
        #expect(try files.mode(of: "token-keys.yaml") == 0o600)
        #expect(try files.names() == ["token-keys.yaml"])
        let settings = HMACTokenPlugin.Settings(keys: path)
        #expect(await HMACTokenPlugin.problems(in: settings, context: PluginContext.test()) == [])
        let issued = try TokenSigner(settings).issue(subject: alice, now: WallTime.test)
        #expect(issued.key == fresh.id)
    }

    @Test("The replaced key expires after the overlap, and both keys are valid until then")
    func overlapping() async throws {
        let settings = HMACTokenPlugin.Settings(keys: path)
        var file = try TokenKeysFile.load(path)
        try file.rotate(now: WallTime.test, overlap: .zero, id: "k1")
        try file.write()
        let old = try TokenSigner(settings).issue(subject: alice, now: later(9))
        file = try TokenKeysFile.load(path)
        try file.rotate(now: later(10), overlap: TokenKeysFile.overlap(lifetime: settings.lifetime), id: "k2")
        try file.write()
        #expect(file.keys.map(\.id) == ["k2", "k1"])
        let new = try TokenSigner(settings).issue(subject: alice, now: later(10))
        #expect(new.key == "k2")
        func answer(_ token: IssuedToken, _ seconds: Int64) async throws -> AuthenticationOutcome {
            let text = token.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            let authenticator = try await HMACTokenPlugin.makeAuthenticator(
                settings, context: PluginContext.test(now: later(seconds)))
            return await authenticator.present(text)
        }
        #expect(try await answer(old, 10) == identity("alice"))
        #expect(try await answer(new, 10) == identity("alice"))
        // The old token is accepted to the last second of its lifetime and the skew. The token expires first, then
        // its key.
        #expect(try await answer(old, 9 + 3659) == identity("alice"))
        #expect(try await answer(old, 9 + 3660) == .rejected(.expired))
        #expect(try await answer(old, 10 + 3661) == .rejected(.untrusted))
    }

    @Test("With a start delay the old key signs until the new one is valid")
    func lead() throws {
        let settings = HMACTokenPlugin.Settings(keys: path)
        var file = try TokenKeysFile.load(path)
        try file.rotate(now: WallTime.test, overlap: .zero, id: "k1")
        try file.rotate(now: WallTime.test, overlap: .seconds(60), id: "k2", startsIn: .seconds(30))
        try file.write()
        let signer = try TokenSigner(settings)
        #expect(try signer.issue(subject: alice, now: later(29)).key == "k1")
        #expect(try signer.issue(subject: alice, now: later(30)).key == "k2")
        #expect(file.keys[1].notAfter == later(91))
    }

    @Test("An earlier expiry is kept, and long expired keys are removed")
    func cleaning() throws {
        var file = try TokenKeysFile.load(
            try files.write(
                """
                keys: # a comment
                  - { id: a, algorithm: HS256, secret: "\(Forge.secret())", not-after: 2026-11-21T07:10:00Z, subjects: ["svc-*"], groups: [] }
                  - { id: b, algorithm: HS384, secret: "\(Forge.secret(48))", not-after: 2026-11-14T07:00:00Z }
                  - { id: c, algorithm: HS384, secret: "\(Forge.secret(48))", not-after: 2026-11-14T06:59:59.5Z }
                  - { id: d, algorithm: HS512, secret: "\(Forge.secret(64))", groups: [x, y], issue: false }
                """))
        let fresh = try file.rotate(now: WallTime.test, overlap: .seconds(3660), id: "e")
        try file.write()
        let again = try TokenKeysFile.load(path)
        #expect(again.keys.map(\.id) == ["e", "a", "b", "d"])
        #expect(again.keys[1].notAfter == later(600))
        // The new key has the restrictions of the key that it replaces.
        #expect(fresh.subjects?.map(\.description) == ["svc-*"])
        #expect(fresh.groups == [])
        #expect(again.keys[0].subjects == fresh.subjects)
        #expect(again.keys[0].secret.isEqual(to: fresh.secret))
        #expect(again.keys[3].mayIssueTokens == false)
        #expect(again.keys[3].notAfter == nil)
        #expect(again.keys[3].groups?.map(\.text).sorted() == ["x", "y"])
    }

    @Test("Duplicate and invalid ids, an invalid file and a concurrent change are rejected")
    func rejections() throws {
        var file = try TokenKeysFile.load(path)
        let first = try file.rotate(now: WallTime.test, overlap: .zero)
        let second = try file.rotate(now: WallTime.test, overlap: .zero)
        let third = try file.rotate(now: WallTime.test, overlap: .zero)
        #expect(
            [first.id, second.id, third.id] == ["k20261121T070000Z", "k20261121T070000Z-2", "k20261121T070000Z-3"])
        #expect(!first.secret.isEqual(to: second.secret))
        #expect(throws: ConfigurationError.self) { try file.rotate(now: WallTime.test, overlap: .zero, id: first.id) }
        #expect(throws: ConfigurationError.self) { try file.rotate(now: WallTime.test, overlap: .zero, id: "../x") }
        #expect(throws: ConfigurationError.self) { try file.rotate(now: WallTime.test, overlap: .zero, id: "") }
        #expect(file.keys.count == 3)
        var theirs = try TokenKeysFile.load(path)
        try file.write()
        try theirs.rotate(now: WallTime.test, overlap: .zero)
        #expect(throws: ConfigurationError.self) { try theirs.write() }
        #expect(try TokenKeysFile.load(path).keys.count == 3)
        _ = try files.write("keys: [{ id: a }]")
        #expect(throws: ConfigurationError.self) { try TokenKeysFile.load(path) }
    }

    @Test("Over a hundred rotations every valid token is accepted, and none after its key expired")
    func manyRotations() async throws {
        let settings = HMACTokenPlugin.Settings(keys: path, lifetime: .seconds(5))
        var file = try TokenKeysFile.load(path)
        var issued: [(token: String, at: Int64)] = []
        for round in 0..<100 {
            let now = Int64(round) * 7
            try file.rotate(now: later(now), overlap: TokenKeysFile.overlap(lifetime: settings.lifetime))
            try file.write()
            file = try TokenKeysFile.load(path)
            let token = try TokenSigner(settings).issue(subject: alice, now: later(now))
            issued.append((token.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }, now))
            let authenticator = try await HMACTokenPlugin.makeAuthenticator(
                settings, context: PluginContext.test(now: later(now)))
            for (token, start) in issued {
                // A lifetime of 5 s and a skew of 60 s. A key expires after the last of its tokens.
                let isGood = now - start < 65
                #expect(await (authenticator.present(token) == identity("alice")) == isGood, "\(start) at \(now)")
            }
        }
        #expect(file.keys.count == 100)
    }
}
