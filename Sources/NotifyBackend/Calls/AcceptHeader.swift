/// The content negotiation of Web API between its JSON and its XML formatter.
struct AcceptHeader {
    /// Whether the client prefers XML to JSON. JSON wins a tie.
    let prefersXML: Bool

    /// Parses an `Accept` value: media ranges with `q` (RFC 9110, section 12.5.1). A range with an exact type wins
    /// over a wildcard of the same quality.
    init(_ value: String) {
        var json = (quality: 0.0, isNamed: false)
        var xml = (quality: 0.0, isNamed: false)
        for range in value.split(separator: ",") {
            let parts = range.split(separator: ";").map { MediaType.trimmed($0).lowercased() }
            let quality =
                parts.dropFirst().lazy
                .compactMap { $0.hasPrefix("q=") ? Double($0.dropFirst(2)) : nil }.first ?? 1
            switch parts.first {
            case "application/json", "text/json": json = max(json, (quality, true), by: Self.isLess)
            case "application/xml", "text/xml": xml = max(xml, (quality, true), by: Self.isLess)
            case "*/*", "application/*", "text/*":
                json = max(json, (quality, false), by: Self.isLess)
                xml = max(xml, (quality, false), by: Self.isLess)
            default: continue
            }
        }
        prefersXML = Self.isLess(json, xml)
    }

    private static func isLess(
        _ one: (quality: Double, isNamed: Bool),
        _ other: (quality: Double, isNamed: Bool)
    ) -> Bool {
        (one.quality, one.isNamed ? 1 : 0) < (other.quality, other.isNamed ? 1 : 0)
    }
}

private func max<T>(_ one: T, _ other: T, by isLess: (T, T) -> Bool) -> T {
    isLess(one, other) ? other : one
}
