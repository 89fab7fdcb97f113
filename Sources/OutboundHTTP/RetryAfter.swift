package import GatewaySupport

/// The header field `Retry-After` (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// Returns the wait that the value asks for; nil for an invalid value.
    package static func wait(_ value: String, now: WallTime) -> Duration? {
        if (1...9).contains(value.utf8.count), value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return Int(value).map { .seconds($0) }
        }
        guard let time = date(value) else { return nil }
        return .seconds(max(0, time.seconds - now.seconds))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses the form `Sat, 21 Nov 2026 07:00:00 GMT`, which senders must use.
    private static func date(_ text: String) -> WallTime? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard text.utf8.count == 29, parts.count == 6, parts[0].hasSuffix(","), parts[5] == "GMT",
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        let number = month + 1 < 10 ? "0\(month + 1)" : "\(month + 1)"
        return WallTime(rfc3339: "\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    }
}
