internal import GatewayCore
internal import GatewaySupport

/// A cache for the value of the `Date` field (RFC 9110, section 5.6.7), formatted once a second.
struct DateField {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private let clocks: Clocks
    private var second = Int64.min
    private var text: [UInt8] = []

    init(clocks: Clocks) { self.clocks = clocks }

    /// Returns the current time in the form `Sat, 21 Nov 2026 07:00:00 GMT`.
    mutating func current() -> [UInt8] {
        let now = clocks.wall()
        if now.seconds != second {
            second = now.seconds
            text = Array(Self.format(now).utf8)
        }
        return text
    }

    private static func format(_ time: WallTime) -> String {
        // RFC 3339 contains the same parts in a different order: 2026-11-21T07:00:00.000000Z.
        let parts = time.description
        func part(_ from: Int, _ length: Int) -> Substring { parts.dropFirst(from).prefix(length) }
        // The epoch was a Thursday.
        let day = Int(((time.seconds - (time.seconds % 86_400 + 86_400) % 86_400) / 86_400 % 7 + 7) % 7)
        let month = min(max((Int(part(5, 2)) ?? 1) - 1, 0), 11)
        return "\(days[day]), \(part(8, 2)) \(months[month]) \(part(0, 4)) \(part(11, 8)) GMT"
    }
}
