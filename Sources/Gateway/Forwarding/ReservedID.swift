internal import GatewayCore
internal import NIOCore

/// The registration id in a backend's answer, however its generation wraps it (contract: client rule 1).
enum ReservedID {
    /// Bare, in quotation marks, or in an XML `string` element, with white space around; nil if no id is left then.
    static func read(_ body: ByteBuffer) -> RegistrationID? {
        guard body.readableBytes <= 1024 else { return nil }
        var text = trimmed(String(buffer: body)[...])
        if text.hasPrefix("\u{FEFF}") { text = text.dropFirst() }
        if text.hasPrefix("<"), text.hasSuffix("</string>"),
            let start = text.lastIndex(of: "<").flatMap({ end in
                text[..<end].lastIndex(of: ">")
            })
        {
            text = trimmed(text[text.index(after: start)...].dropLast("</string>".count))
        }
        if text.hasPrefix("\""), text.hasSuffix("\""), text.count >= 2 { text = trimmed(text.dropFirst().dropLast()) }
        return RegistrationID(text)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first.isWhitespace { text = text.dropFirst() }
        while let last = text.last, last.isWhitespace { text = text.dropLast() }
        return text
    }
}
