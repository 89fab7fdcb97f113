import Foundation

/// A user and password as the tutorial's handler reads them from `Authorization`.
///
/// The handler splits at every colon and uses the first two parts, so `alice:alice:x` is accepted as alice.
struct BasicCredential: Equatable {
    enum Fault: Error, Equatable {
        case absent
        case otherScheme
        /// The credential is not base64, or contains no colon.
        case malformed
    }

    let user: String
    let password: String

    /// Whether the password equals the user name, which is the tutorial's check. Compares bytes.
    var isValid: Bool { user.utf8.elementsEqual(password.utf8) }

    /// Parses a header value. `classic` decodes Windows-1252, the other flavours UTF-8.
    init(authorization: String?, flavor: BackendFlavor) throws(Fault) {
        guard let authorization else { throw .absent }
        guard authorization.prefix(6).lowercased() == "basic " else { throw .otherScheme }
        let encoded = MediaType.trimmed(authorization.dropFirst(6))
        guard let data = Data(base64Encoded: encoded) else { throw .malformed }
        let text =
            switch flavor {
            case .classic:
                String(data: data, encoding: .windowsCP1252) ?? String(String.UnicodeScalarView(data.map { .init($0) }))
            case .core, .net6: String(decoding: data, as: UTF8.self)
            }
        // Splits bytes instead of characters, because a colon with a combining mark would be another character.
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count >= 2 else { throw .malformed }
        user = String(Substring(parts[0]))
        password = String(Substring(parts[1]))
    }
}
