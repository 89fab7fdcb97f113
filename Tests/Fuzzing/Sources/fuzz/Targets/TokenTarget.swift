internal import Foundation
internal import GatewayCore
internal import GatewaySupport

@testable internal import HMACToken

/// The token verifier accepts no bytes that were not signed with its key, and of signed claims only those of its issuer and audience.
///
/// Each input is presented twice: as a token, and as the claims of a token that is signed with the right key.
enum TokenTarget: FuzzTarget {
    private static let issuer = "notify-gateway"
    private static let audience = "notify"
    private static let now = WallTime(seconds: 1_795_244_400)
    private static let header = Array(#"{"alg":"HS256","kid":"fuzz"}"#.utf8)

    private static let encodedKey = "SCy5HB/Ng63Sb29usF1Kp31HozvobpdKSUfdnsFqD7Q="
    private static let key = Secret(Base64.decode(Array(encodedKey.utf8).span, .standard) ?? [])

    private static let verifier: TokenVerifier = {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(getpid())").path
        let file = folder + "/keys.yaml"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let text = #"keys: [{ id: fuzz, algorithm: HS256, secret: "\#(encodedKey)" }]"#
            FileManager.default.createFile(
                atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
            return TokenVerifier(
                try KeyRing(file, names: NameRules()), settings: .init(keys: file, issuer: issuer, audience: audience),
                names: NameRules())
        } catch {
            propertyFails("no key file: \(error)")
        }
    }()

    static func run(_ input: [UInt8]) {
        if case .accepted(let identity) = verifier.verify(Secret(input), at: now) {
            propertyFails("an unsigned token is accepted as \(identity.user)")
        }
        guard let hmac = HMAC(.sha256, key: key) else { propertyFails("libcrypto refuses the key") }
        let signed = Base64.encode(header, .url) + [UInt8(ascii: ".")] + Base64.encode(input, .url)
        guard let tag = hmac.tag(over: signed) else { propertyFails("libcrypto makes no tag") }
        let token = signed + [UInt8(ascii: ".")] + Base64.encode(tag, .url)
        guard case .accepted(let identity) = verifier.verify(Secret(token), at: now) else { return }
        guard let claims = try? JSONParser(memberLimit: 256).parse(input.span), claims["iss"]?.string == issuer,
            let expiry = claims["exp"].map({ "\($0)" }), !expiry.isEmpty, !identity.user.text.isEmpty
        else { propertyFails("claims are accepted that are not the verifier's") }
    }
}
