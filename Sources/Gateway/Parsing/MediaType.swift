internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// Checks of `Content-Type` and `Content-Encoding` (docs/contract.md: client rule 8).
enum MediaType {
    /// Requires `application/json` or no field, with the charset utf-8, iso-8859-1, us-ascii or none.
    static func requireJSON(_ field: ReceivedRequest.FieldValue) throws(Rejection) {
        switch field {
        case .absent:
            return
        case .repeated:
            throw Rejection(.malformedRequest, "Content-Type is repeated")
        case .single(let value) where Self.isUsual(value.readableBytesUInt8Span):
            return
        case .single(let value):
            let rejection = Rejection(
                .unsupportedMediaType, "Content-Type is not JSON",
                hint: "This call accepts application/json in utf-8, iso-8859-1 or us-ascii.")
            // A `Character` can consist of a separator and another scalar, which would hide the parameter after it. Of
            // ASCII without control characters, each byte is a `Character`.
            guard value.readableBytesView.allSatisfy(Self.isTextOrTab) else { throw rejection }
            var parts = String(buffer: value).asciiLowercased.split(
                separator: ";", omittingEmptySubsequences: false
            ).map { $0.trimmingBlanks }
            guard parts.removeFirst() == "application/json" else { throw rejection }
            for part in parts {
                // White space around the equals sign violates the grammar, but another server may accept it.
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard pair[0].trimmingBlanks == "charset" else { continue }
                let charset = pair.count == 2 ? pair[1].trimmingBlanks : ""
                let bare =
                    charset.hasPrefix("\"") && charset.hasSuffix("\"") && charset.count >= 2
                    ? charset.dropFirst().dropLast() : charset
                guard ["utf-8", "iso-8859-1", "us-ascii"].contains(bare) else { throw rejection }
            }
        }
    }

    /// Requires `application/x-www-form-urlencoded`, with or without parameters.
    static func requireForm(_ field: ReceivedRequest.FieldValue) throws(Rejection) {
        if case .single(let value) = field {
            let type = value.readableBytesView.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }
            if String(decoding: type, as: UTF8.self).asciiLowercased == "application/x-www-form-urlencoded" { return }
        }
        throw Rejection(
            .malformedRequest, "Content-Type is not a form",
            hint: "This call accepts application/x-www-form-urlencoded.")
    }

    /// Returns whether the byte is printable ASCII, a space or a tab.
    private static func isTextOrTab(_ byte: UInt8) -> Bool { (0x20...0x7E).contains(byte) || byte == 0x09 }

    /// Fast path: returns whether the field has one of the two values that nearly all clients send.
    private static func isUsual(_ value: Span<UInt8>) -> Bool {
        value.equals("application/json; charset=utf-8") || value.equals("application/json")
    }

    /// Requires `identity` or no field, because the gateway does not decode compressed bodies.
    static func requireIdentityCoding(_ field: ReceivedRequest.FieldValue) throws(Rejection) {
        switch field {
        case .absent: return
        case .single(let value) where String(buffer: value).asciiLowercased == "identity": return
        case .single: throw Rejection(.unsupportedMediaType, "Content-Encoding is not identity")
        case .repeated: throw Rejection(.malformedRequest, "Content-Encoding is repeated")
        }
    }
}

extension Span<UInt8> {
    /// Returns whether the bytes equal the text.
    fileprivate func equals(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { bytes in indices.allSatisfy { self[$0] == bytes[$0] } }
    }
}

extension Substring {
    /// The text without surrounding spaces and tabs (RFC 9110, section 5.6.3).
    fileprivate var trimmingBlanks: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text = text.dropFirst() }
        while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
        return text
    }
}
