package import GatewayCore
package import NIOCore

/// A parser of the registration id in a backend's response, in the formats of all backend generations
/// (docs/contract.md: client rule 1).
package enum ReservedIDParser {
    /// Returns the id, which may be bare, in quotation marks, or in an XML `string` element, with white space around
    /// it. Returns nil if the body has another form than `form` or contains no valid id.
    package static func read(_ body: ByteBuffer, as form: BackendProfile.IDFormat = .any) -> RegistrationID? {
        guard body.readableBytes <= 1024 else { return nil }
        var text = trimmed(String(buffer: body)[...])
        if text.hasPrefix("\u{FEFF}") { text = text.dropFirst() }
        switch form {
        case .any:
            let inner = element(text) ?? text
            return RegistrationID(unquoted(inner) ?? inner)
        case .json: return unquoted(text).flatMap { RegistrationID($0) }
        case .text: return RegistrationID(text)
        case .xml: return element(text).flatMap { RegistrationID($0) }
        }
    }

    /// Returns the text of an XML element `string`.
    private static func element(_ text: Substring) -> Substring? {
        guard text.hasPrefix("<"), text.hasSuffix("</string>"), let end = text.lastIndex(of: "<"),
            let start = text[..<end].lastIndex(of: ">")
        else { return nil }
        return trimmed(text[text.index(after: start)...].dropLast("</string>".count))
    }

    private static func unquoted(_ text: Substring) -> Substring? {
        guard text.hasPrefix("\""), text.hasSuffix("\""), text.count >= 2 else { return nil }
        return trimmed(text.dropFirst().dropLast())
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first.isWhitespace { text = text.dropFirst() }
        while let last = text.last, last.isWhitespace { text = text.dropLast() }
        return text
    }
}
