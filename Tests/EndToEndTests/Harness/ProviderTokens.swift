import Foundation
import GatewaySupport
import GatewayTesting
import Testing

/// An OpenID provider's key and its tokens, made with the `openssl` command.
struct ProviderTokens {
    static let issuer = "https://provider.example"
    /// The part of a configuration that accepts the tokens.
    static let authenticator = "oidc: { issuer: \"\(issuer)\", audience: notify, jwks: provider-keys.json }"

    private let directory: TestFiles

    /// Makes a key, and writes its key set into the directory.
    init(in directory: TestFiles) async throws {
        self.directory = directory
        try await Self.openssl(["genrsa", "-out", "provider.pem", "2048"], in: directory)
        let modulus = try await Self.openssl(["rsa", "-in", "provider.pem", "-noout", "-modulus"], in: directory)
        let bytes = Self.bytes(hexadecimal: modulus.trimmingCharacters(in: .newlines).replacing("Modulus=", with: ""))
        try directory.write(
            #"{"keys":[{"kty":"RSA","kid":"p1","alg":"RS256","n":"\#(Self.base64(bytes))","e":"AQAB"}]}"#,
            to: "provider-keys.json")
    }

    /// Returns a token for the subject, valid from now on for the number of seconds.
    func token(_ subject: String, seconds: Int64 = 600, _ more: String = "") async throws -> String {
        let now = Clocks.system.wall().seconds
        let claims =
            #"{"iss":"\#(Self.issuer)","aud":"notify","sub":"\#(subject)","iat":\#(min(now, now + seconds - 60)),"#
            + #""exp":\#(now + seconds)\#(more)}"#
        let input = [#"{"alg":"RS256","kid":"p1"}"#, claims].map { Self.base64(Array($0.utf8)) }.joined(separator: ".")
        let signed = try await Self.openssl(
            ["dgst", "-sha256", "-sign", "provider.pem", "-hex"], input: input, in: directory)
        let signature = try #require(signed.split(separator: "= ").last).trimmingCharacters(in: .newlines)
        return input + "." + Self.base64(Self.bytes(hexadecimal: signature))
    }

    @discardableResult
    private static func openssl(
        _ arguments: [String], input: String = "", in directory: TestFiles
    ) async throws -> String {
        let outcome = try await Program.execute("/usr/bin/openssl", arguments, input: input, in: directory.path)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.encode(bytes[...], .url), as: UTF8.self)
    }

    private static func bytes(hexadecimal text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
