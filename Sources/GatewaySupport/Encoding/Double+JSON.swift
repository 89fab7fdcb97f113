extension Double {
    /// Creates the value of a number in the grammar of JSON (RFC 8259, section 6), such as `47.6` or `-5.0E-4`. Returns
    /// nil for other text, for text of more than 64 bytes, and for numbers beyond the range of `Double`.
    ///
    /// The conversion is that of the standard library and depends on no locale.
    package init?(json text: String) {
        guard text.utf8.count <= 64 else { return nil }
        var text = text
        let isNumber = text.withUTF8 { bytes in
            var cursor = JSONParser.Cursor(membersLeft: 0)
            let number = try? JSONParser.number(bytes.span, &cursor)
            return number != nil && cursor.index == bytes.count
        }
        guard isNumber, let value = Double(text), value.isFinite else { return nil }
        self = value
    }
}
