package import GatewayCore
package import NIOCore

/// The registration id in a backend's answer, however its generation wraps it (contract: client rule 1).
package enum ReservedID {
    /// Bare, in quotation marks, or in an XML `string` element, with white space around; nil if no id is left then, or if it
    /// does not come in the form.
    package static func read(_ body: ByteBuffer, as form: BackendProfile.IDForm = .any) -> RegistrationID? {
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

    /// The text of an XML element `string`.
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
