import Foundation
import GatewayCore
import GatewaySupport
import HMACToken

/// A comparison of tokens that are valid except for one byte of their tag.
struct TokenTiming {
    private let authenticator: any Authenticator
    private let signer: TokenSigner
    private let alice: UserName

    /// The error for a malformed token, which is an error of the benchmark.
    struct Malformed: Error {}

    init() async throws {
        let directory = try TemporaryDirectory()
        var keys = try TokenKeysFile.load("\(directory.path)/token-keys.yaml")
        try keys.rotate(now: Clocks.system.wall(), overlap: .zero, id: "k1")
        try keys.write()
        let settings = HMACTokenPlugin.Settings(keys: keys.path)
        authenticator = try await HMACTokenPlugin.makeAuthenticator(settings, context: .ofBenchmarks())
        signer = try TokenSigner(settings)
        guard let alice = UserName(canonical: "alice") else { throw Malformed() }
        self.alice = alice
    }

    /// Compares tokens with a wrong first byte and a wrong last byte of the tag.
    func firstAndLastByte(_ count: Int) throws -> Comparison {
        Comparison(
            name: "a tag with a wrong first byte and a tag with a wrong last byte, \(count) samples each",
            first: try tokens(count) { $0[0] ^= UInt8.random(in: 1...255) },
            second: try tokens(count) { $0[$0.count - 1] ^= UInt8.random(in: 1...255) },
            expected: .rejected(.untrusted), verify: verify)
    }

    /// A control: the authenticator rejects a token with an unknown key before it computes a tag.
    func control(_ count: Int) throws -> Comparison {
        let unknownKeys = try tokens(count) { $0[0] ^= 1 }.map { credential in
            guard case .bearer(let token) = credential else { throw Malformed() }
            let parts = token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.split(separator: ".")
            let header = Base64.encode(Array(#"{"alg":"HS256","kid":"k2","typ":"JWT"}"#.utf8), .url)
            return Credential.bearer(token: Secret(header + Array(".\(parts[1]).\(parts[2])".utf8)))
        }
        return Comparison(
            name: "a wrong tag and an unknown key", first: try tokens(count) { $0[0] ^= 1 },
            second: unknownKeys, expected: .rejected(.untrusted), verify: verify)
    }

    private func verify(_ credential: Credential) async -> AuthenticationOutcome {
        // Called without a new task, like in the gateway, so that no scheduling lies between the two clock readings.
        authenticator.immediateOutcome(on: credential, from: .ofBenchmarks) ?? .notMine
    }

    private func tokens(_ count: Int, changing change: (inout [UInt8]) -> Void) throws -> [Credential] {
        let now = Clocks.system.wall()
        return try (0..<count).map { _ in
            let text = try signer.issue(subject: alice, now: now).token.withUnsafeBytes { Array($0) }
            guard let dot = text.lastIndex(of: UInt8(ascii: ".")),
                var tag = Base64.decode(Array(text[(dot + 1)...]).span, .url)
            else { throw Malformed() }
            change(&tag)
            return .bearer(token: Secret(text[...dot] + Base64.encode(tag, .url)))
        }
    }
}
