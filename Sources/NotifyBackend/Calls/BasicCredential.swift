import Foundation

/// The user and password that the tutorial's handler reads from `Authorization`.
///
/// It splits at every colon and uses the first two parts, so `alice:alice:x` is alice with alice's password.
struct BasicCredential: Equatable {
    enum Fault: Error, Equatable {
        case absent
        case otherScheme
        /// Not base64, or without a colon.
        case malformed
    }

    let user: String
    let password: String

    /// The tutorial's password check: the password equals the user name, byte by byte.
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
        // Split as bytes: a colon followed by a combining mark is not a colon character.
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count >= 2 else { throw .malformed }
        user = String(Substring(parts[0]))
        password = String(Substring(parts[1]))
    }
}
