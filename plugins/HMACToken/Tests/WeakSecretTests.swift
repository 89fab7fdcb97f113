import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import HMACToken

@Suite("Weak secrets")
struct WeakSecretTests {
    /// Returns the problem of a key file with this one secret, without the location.
    private static func problem(_ secret: String, _ algorithm: String = "HS256") async throws -> String? {
        let files = try TestFiles()
        let file = try files.write("keys: [{ id: a, algorithm: \(algorithm), secret: \"\(secret)\" }]")
        let problems = await HMACTokenPlugin.problems(in: .init(keys: file), context: .test())
        #expect(problems.count <= 1)
        return problems.first?.message
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    @Test(
        "Text is rejected, however long, also if it is encoded twice",
        arguments: [
            "CHANGE_ME_TO_A_COMPLEX_RANDOM_SECRET", "your-256-bit-secret-your-256-bit-secret!",
            "Zq4t7w!z%C*F-JaNdRgUkXp2s5u8x/A?D(G+KbPeShVmYq3t6w9y$B&E)H@McQfT\n",
            "3d5a6e0b0c9a4d1f8e7b2c6a5f4e3d2c1b0a9f8e7d6c5b4a39281706f5e4d3c2",
            "\u{43F}\u{430}\u{440}\u{43E}\u{43B}\u{44C} \u{434}\u{43B}\u{44F} \u{432}\u{441}\u{435}\u{445} 2026",
        ])
    func text(secret: String) async throws {
        #expect(try await Self.problem(Self.base64(Array(secret.utf8)))?.hasPrefix("is text in base64") == true)
        #expect(
            try await Self.problem(Self.base64(Array(Self.base64(Array(secret.utf8)).utf8)))?
                .hasPrefix("is text in base64") == true)
    }

    @Test("Bytes with a pattern are rejected")
    func patterns() async throws {
        let patterns: [[UInt8]] = [
            (0..<64).map { UInt8($0) }, (0..<64).map { UInt8(truncatingIfNeeded: $0 * 37 + 11) },
            // UTF-16 text, padding, a repeated block with other bytes between, and bytes of a 16-byte alphabet.
            Array("correct horse battery staple".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }),
            Forge.bytes[0..<16] + Array(repeating: 0, count: 48),
            Forge.bytes[0..<14] + [7] + Forge.bytes[0..<14] + [9, 8, 1],
            (0..<40).map { Forge.bytes[$0] & 15 },
        ]
        for pattern in patterns {
            #expect(
                try await Self.problem(Self.base64(pattern))?.hasPrefix("has a pattern: about") == true, "\(pattern)")
        }
    }

    @Test(
        "Typed words that happen to be valid base64 are rejected",
        arguments: [
            "YourSuperSecretKeyForJwtAuthentication123456", "thisismysupersecretkeyforthejsonwebtoken1234",
            "ThisIsTheSecretKeyThatWeUseForAllOfOurServices20", "MySuperSecretKeyForTheApplication12345678901",
        ])
    func words(text: String) async throws {
        #expect(Base64.decode(Array(text.utf8).span, .standard) != nil)
        #expect(try await Self.problem(text)?.hasPrefix("was typed as words") == true)
    }

    /// Secrets that were found in public repositories, one a line.
    private static let published = TestData.corpus("jwt-secrets/jwt.secrets.list")

    @Test(
        "No published secret is accepted, neither as text nor in base64",
        .enabled(if: published != nil, "no list of published secrets: set NOTIFY_GATEWAY_CORPORA"))
    func publishedSecrets() async throws {
        let text = String(decoding: try Data(contentsOf: try #require(Self.published)), as: UTF8.self)
        let secrets = Set(text.split(whereSeparator: \.isNewline).map(String.init)).sorted()
        #expect(!secrets.isEmpty)
        let files = try TestFiles()
        for start in stride(from: 0, to: secrets.count, by: 500) {
            let some = secrets[start..<min(start + 500, secrets.count)]
            let forms = some.flatMap { [$0, Self.base64(Array($0.utf8))] }
            let keys = forms.enumerated().map { number, secret in
                let quoted = String(decoding: JSONWriter.bytes(of: .string(secret)), as: UTF8.self)
                return "  - { id: k\(number), algorithm: HS256, secret: \(quoted) }\n"
            }
            let file = try files.write("keys:\n" + keys.joined())
            let problems = await HMACTokenPlugin.problems(in: .init(keys: file), context: .test())
            let refused = Set(problems.map(\.path))
            let taken = forms.indices.filter { !refused.contains("keys[\($0)].secret") }.map { forms[$0] }
            #expect(taken.isEmpty, "\(taken)")
        }
        print("\(secrets.count) published secrets, each as it stands and in base64")
    }

    @Test("Random bytes are accepted in base64 and in hex, and have nearly all their bits")
    func random() async throws {
        var least = Double.infinity
        for _ in 0..<20_000 {
            let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
            #expect(KeyStrength.weakness(of: bytes, for: .hs256) == nil)
            #expect(!PassphraseDetector.isTyped(Self.base64(bytes).utf8))
            least = min(least, KeyStrength.estimatedBits(of: bytes))
        }
        #expect(least > 200, "\(least)")
        for (count, algorithm) in [(32, "HS256"), (48, "HS384"), (64, "HS512")] {
            let hex = Forge.bytes[..<count].map { String(format: "%02x", $0) }.joined()
            #expect(try await Self.problem(Self.base64(Array(Forge.bytes[..<count])), algorithm) == nil)
            #expect(try await Self.problem(hex, algorithm) == nil)
            #expect(try await Self.problem(hex.uppercased(), algorithm) == nil)
        }
        // An odd number of hexadecimal digits is not hex. Read as base64 it is too short or has a pattern.
        let hex = Forge.bytes[..<32].map { String(format: "%02x", $0) }.joined()
        #expect(try await Self.problem(String(hex.dropLast())) != nil)
    }

    @Test("A hexadecimal secret verifies tokens that its bytes signed")
    func hexBytes() async throws {
        let hex = Forge.bytes[..<32].map { String(format: "%02x", $0) }.joined()
        let authenticator = try await testAuthenticator(
            keys: "keys: [{ id: k2, algorithm: HS256, secret: \"\(hex)\" }]")
        #expect(await authenticator.present(Forge.token()) == identity("alice"))
    }

    @Test("A rotation replaces weak keys and keeps the others")
    func rotate() throws {
        let files = try TestFiles()
        let path = try files.write(
            """
            keys:
              - { id: weak, algorithm: HS256, secret: "\(Self.base64(Array("CHANGE_ME_TO_A_COMPLEX_RANDOM_SECRET".utf8)))", groups: [x] }
              - { id: strong, algorithm: HS256, secret: "\(Forge.secret())", issue: false }
              - { id: typed, algorithm: HS256, secret: "YourSuperSecretKeyForJwtAuthentication123456" }
            """)
        #expect(throws: ConfigurationError.self) { try TokenKeysFile.load(path) }
        var file = try TokenKeysFile.load(path, dropsWeakKeys: true)
        #expect(file.weakIDs == ["weak", "typed"])
        try file.rotate(now: .test, overlap: .seconds(60), id: "fresh")
        try file.write()
        let written = try TokenKeysFile.load(path)
        #expect(written.keys.map(\.id) == ["fresh", "strong"])
        // Other mistakes are still errors.
        try files.write("keys: [{ id: weak, algorithm: HS256, secret: \"c2VjcmV0\", colour: red }]")
        #expect(throws: ConfigurationError.self) { try TokenKeysFile.load(path, dropsWeakKeys: true) }
    }
}
