import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import Testing

@Suite("Key file")
struct TokenKeysDocumentTests {
    private func problems(_ text: String, mode: Int = 0o600, now: WallTime = WallTime.test) async throws -> [String] {
        let files = try TestFiles()
        let file = try files.write(text, mode: mode)
        let found = await HMACTokenPlugin.problems(in: .init(keys: file), context: PluginContext.test(now: now))
        return found.map { withoutHint($0.description.replacing(files.path + "/", with: "")) }
    }

    /// Removes the list of known keys that the reader appends.
    private func withoutHint(_ problem: String) -> String {
        problem.range(of: "; known keys: ").map { String(problem[..<$0.lowerBound]) } ?? problem
    }

    @Test("A valid file has no problems")
    func good() async throws {
        #expect(try await problems(Forge.keys) == [])
    }

    @Test("Every mistake is reported at once, each with its location, and no secret is repeated")
    func mistakes() async throws {
        func secret(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes, .standard), as: UTF8.self) }
        let short = secret(Array(Forge.bytes[0..<31]))
        let few = secret((0..<32).map { UInt8($0 % 11) * 3 % 7 })
        let repeated = secret((0..<64).map { UInt8($0 % 16) })
        let text = """
            keys:
              - { id: "../k", algorithm: HS256, secret: "\(Forge.secret())" }
              - { id: a, algorithm: none, secret: "\(Forge.secret())" }
              - { id: a, algorithm: HS256, secret: "\(short)" }
              - { id: c, algorithm: HS384, secret: "\(Forge.secret())" }
              - { id: d, algorithm: HS256, secret: "\(few)" }
              - { id: e, algorithm: HS512, secret: "\(repeated)" }
              - { id: f, algorithm: HS256, secret: "c2VjcmV0" }
              - { id: g, algorithm: HS256, secret: "geheim!" }
              - { id: h, algorithm: HS256 }
              - { secret: "\(Forge.secret())" }
              - { id: i, algorithm: HS256, secret: "\(Forge.secret())", not-before: soon, not-after: 2026-02-30T00:00:00Z }
              - { id: j, algorithm: HS256, secret: "\(Forge.secret())", not-before: 2027-01-01T00:00:00Z, not-after: 2027-01-01T00:00:00Z }
              - { id: k, algorithm: HS256, secret: "\(Forge.secret())", subjects: [], groups: ["a b"], issue: maybe }
              - { id: l, algorithm: HS256, secret: "\(Forge.secret())", subjects: ["*a", "a*b*", "al ce", "**", ""] }
              - k
            key: x
            """
        let found = try await problems(text)
        let remedy = "make one with `openssl rand -base64 48`, or run `notify-gateway keys rotate`"
        let pattern = "is neither a user name nor the beginning of one followed by *"
        #expect(
            found == [
                "token-keys.yaml:2:11: keys[0].id: is not a key id: use 1 to 64 of A-Z a-z 0-9 . _ -",
                "token-keys.yaml:3:25: keys[1].algorithm: the value is not one of: HS256, HS384, HS512",
                "token-keys.yaml:4:11: keys[2].id: is already the id of the key in line 3",
                "token-keys.yaml:4:40: keys[2].secret: is 31 bytes long; HS256 needs at least 32",
                "token-keys.yaml:5:40: keys[3].secret: is 32 bytes long; HS384 needs at least 48",
                "token-keys.yaml:6:40: keys[4].secret: has only 7 different bytes; a random key has at least 12",
                "token-keys.yaml:7:40: keys[5].secret: repeats a part of 16 bytes; a random key does not",
                "token-keys.yaml:8:40: keys[6].secret: is 6 bytes long; HS256 needs at least 32",
                "token-keys.yaml:9:40: keys[7].secret: is neither base64 (RFC 4648, section 4) nor hex; \(remedy)",
                "token-keys.yaml:10:5: keys[8]: \"secret\" is missing",
                "token-keys.yaml:11:5: keys[9]: \"id\" is missing",
                "token-keys.yaml:11:5: keys[9]: \"algorithm\" is missing",
                "token-keys.yaml:12:100: keys[10].not-before: is not an RFC 3339 time such as 2027-01-31T00:00:00Z",
                "token-keys.yaml:12:117: keys[10].not-after: is not an RFC 3339 time such as 2027-01-31T00:00:00Z",
                "token-keys.yaml:13:133: keys[11].not-after: must be later than not-before",
                "token-keys.yaml:14:98: keys[12].subjects: matches nobody; list a name, or remove the setting to match everybody",
                "token-keys.yaml:14:111: keys[12].groups[0]: is not a group name: use 1 to 64 of A-Z a-z 0-9 _ . -",
                "token-keys.yaml:14:126: keys[12].issue: must be true or false",
                "token-keys.yaml:15:99: keys[13].subjects[0]: \(pattern)",
                "token-keys.yaml:15:105: keys[13].subjects[1]: \(pattern)",
                "token-keys.yaml:15:113: keys[13].subjects[2]: \(pattern)",
                "token-keys.yaml:15:122: keys[13].subjects[3]: \(pattern)",
                "token-keys.yaml:15:128: keys[13].subjects[4]: \(pattern)",
                "token-keys.yaml:16:5: keys[14]: must be a mapping of names to values",
                "token-keys.yaml:16:5: keys[14]: \"id\" is missing",
                "token-keys.yaml:16:5: keys[14]: \"algorithm\" is missing",
                "token-keys.yaml:16:5: keys[14]: \"secret\" is missing",
                "token-keys.yaml:17:1: has an unknown key",
            ])
        #expect(!found.contains { $0.contains(short) || $0.contains("geheim") || $0.contains(Forge.secret()) })
    }

    @Test(
        "No problem contains a secret that is in the wrong place",
        arguments: [
            "{ id: a, secret:\"c2VjSECRET\" }", "{ id: a, secret \"c2VjSECRET\" }", "{ id: a, algorithm: c2VjSECRET }",
            "{ c2VjSECRET: a, c2VjSECRET: b }", "secret:\"c2VjSECRET\"", "{ c2VjSECRET: 1 }",
        ])
    func misplacedSecrets(_ key: String) async throws {
        let found = try await problems("keys:\n  - \(key)\n")
        #expect(!found.isEmpty)
        #expect(!found.contains { $0.contains("SECRET") }, "\(found)")
    }

    @Test("A secret that repeats a short block is rejected", arguments: 1...16)
    func repetitions(length: Int) async throws {
        let part = (0..<length).map { UInt8($0 * 7 + 1) }
        let secret = String(decoding: Base64.encode((0..<64).map { part[$0 % length] }, .standard), as: UTF8.self)
        let found = try await problems("keys: [{ id: a, algorithm: HS256, secret: \"\(secret)\" }]")
        let says =
            length < 12
            ? "has only \(length) different bytes; a random key has at least 12"
            : "repeats a part of \(length) bytes; a random key does not"
        #expect(found == ["token-keys.yaml:1:43: keys[0].secret: \(says)"])
    }

    @Test("A file without keys is rejected, and one with only expired keys causes a warning")
    func empty() async throws {
        #expect(try await problems("") == ["token-keys.yaml: has no keys"])
        #expect(try await problems("keys: []") == ["token-keys.yaml: has no keys"])
        let ended =
            "keys: [{ id: a, algorithm: HS256, secret: \"\(Forge.secret())\", not-after: 2026-11-21T07:00:00Z }]"
        #expect(try await problems(ended) == ["token-keys.yaml: warning: keys: contains no key that is valid now"])
        #expect(try await problems(ended, now: WallTime(seconds: WallTime.test.seconds - 1)) == [])
    }

    @Test("A file open to other users is rejected", arguments: [0o644, 0o604, 0o602, 0o620, 0o666])
    func openFile(mode: Int) async throws {
        #expect(
            try await problems(Forge.keys, mode: mode) == [
                "token-keys.yaml: has the mode 0\(String(mode, radix: 8)), which lets other users access it; run: chmod 640 token-keys.yaml"
            ])
    }

    @Test("The settings have their defaults and bounds")
    func settings() throws {
        let problems = ConfigurationProblems()
        func read(_ text: String) throws -> HMACTokenPlugin.Settings? {
            let node = try YAMLDocument.parse(text, file: "gateway.yaml")
            let reader = ConfigurationReader(node, path: "hmac-token", directory: "/etc/x", problems: problems)
            defer { reader.finish() }
            return HMACTokenPlugin.readSettings(reader)
        }
        let least = try #require(try read("{ keys: token-keys.yaml }"))
        #expect(least.keys == "/etc/x/token-keys.yaml")
        #expect(least.issuer == "notify-gateway")
        #expect(least.audience == "notify")
        #expect(least.lifetime == .seconds(3600))
        #expect(least.session == .seconds(30 * 86_400))
        let most = try #require(try read("{ keys: /k, issuer: me, audience: you, lifetime: 7d, session: 365d }"))
        #expect(most.issuer == "me")
        #expect(most.audience == "you")
        #expect(most.lifetime == .seconds(7 * 86_400))
        #expect(most.session == .seconds(365 * 86_400))
        #expect(problems.all.isEmpty)
        #expect(try read("{ issuer: \"\", audience: [x], lifetime: 8d, session: 59s, leeway: 1s }") == nil)
        #expect(
            problems.all.map { withoutHint($0.description) } == [
                "gateway.yaml:1:1: hmac-token: \"keys\" is missing",
                "gateway.yaml:1:11: hmac-token.issuer: must not be empty",
                "gateway.yaml:1:25: hmac-token.audience: must be text",
                "gateway.yaml:1:40: hmac-token.lifetime: must be from 1s to 7d",
                "gateway.yaml:1:53: hmac-token.session: must be from 1min to 365d",
                "gateway.yaml:1:58: hmac-token.leeway: is not a known key",
            ])
    }
}
