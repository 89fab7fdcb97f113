import Foundation

/// A user and a password as the tutorial's handler takes them from `Authorization`.
///
/// It splits at every colon and looks at the first two parts, so `alice:alice:x` is alice with alice's password.
struct BasicCredential: Equatable {
    enum Fault: Error, Equatable {
        case absent
        case otherScheme
        /// No base64, or no colon in it.
        case malformed
    }

    let user: String
    let password: String

    /// The tutorial's check of a password: it is the user name. Bytes are compared.
    var isValid: Bool { user.utf8.elementsEqual(password.utf8) }

    /// Reads a header value. `classic` decodes Windows-1252, the others UTF-8.
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
        // Split as bytes: as characters, a colon with a combining mark would be none.
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count >= 2 else { throw .malformed }
        user = String(Substring(parts[0]))
        password = String(Substring(parts[1]))
    }
}
