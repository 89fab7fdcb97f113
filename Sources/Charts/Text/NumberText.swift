#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Numbers as a reader expects them.
enum NumberText {
    /// Returns a count with commas between thousands: `12,345`.
    static func grouped(_ count: Int) -> String {
        let digits = Array(String(count.magnitude).utf8)
        var text: [UInt8] = count < 0 ? [UInt8(ascii: "-")] : []
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(UInt8(ascii: ",")) }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns a count with its noun: `1 send`, `12 sends`.
    static func counted(_ count: Int, _ singular: String, _ plural: String) -> String {
        "\(grouped(count)) \(count == 1 ? singular : plural)"
    }

    /// Returns a value with at most three significant digits after the first comma-free group: `0.25`, `3.5`, `1,234`.
    static func value(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        let size = abs(value)
        if size >= 1e15 { return value < 0 ? "-1,000,000,000,000,000" : "1,000,000,000,000,000" }
        if size >= 100 || value == value.rounded() { return grouped(Int(value.rounded())) }
        return decimal(value, places: size >= 10 ? 1 : size >= 1 ? 2 : 3)
    }

    /// Returns the label of an axis: `500`, `1.5k`, `20k`, `3M`.
    static func short(_ value: Double) -> String {
        let scales: [(Double, String)] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
        for (scale, suffix) in scales where abs(value) >= scale {
            let scaled = abs(value) / scale
            return decimal(value / scale, places: scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2) + suffix
        }
        return decimal(value, places: 3)
    }

    /// Returns a count of at most five digits and a letter: `9,999`, `15.6k`.
    static func brief(_ count: Int) -> String { count < 10_000 ? grouped(count) : short(Double(count)) }

    /// Returns a duration with its unit: `250 µs`, `1.5 ms`, `2 s`.
    static func duration(seconds: Double) -> String {
        guard seconds.isFinite else { return "∞" }
        if seconds <= 0 { return "0 s" }
        // Rounded to three digits before the unit is chosen, so that 999.9 µs becomes 1 ms.
        let magnitude = pow(10, log10(seconds).rounded(.down) - 2)
        let rounded = (seconds / magnitude).rounded() * magnitude
        let scales: [(Double, String)] = [(1, "s"), (1e-3, "ms"), (1e-6, "µs")]
        for (scale, unit) in scales where rounded >= scale * 0.999_999 {
            let value = rounded / scale
            return "\(decimal(value, places: value >= 100 ? 0 : value >= 10 ? 1 : 2)) \(unit)"
        }
        return "\(decimal(seconds * 1e9, places: 0)) ns"
    }

    /// Returns a share as a percentage: `0 %`, `< 0.1 %`, `2.5 %`, `100 %`. Only all of it is 100 %.
    static func share(_ part: Int, of whole: Int) -> String {
        guard whole > 0, part > 0 else { return "0 %" }
        if part >= whole { return "100 %" }
        let percentage = Double(part) / Double(whole) * 100
        if percentage < 0.1 { return "< 0.1 %" }
        return "\(decimal(min(percentage, 99.9), places: 1)) %"
    }

    /// Returns a value with at most the number of decimal places, without trailing zeros.
    static func decimal(_ value: Double, places: Int) -> String {
        guard value.isFinite else { return "–" }
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        let scaled = (min(max(value, -1e15), 1e15) * Double(scale)).rounded()
        guard abs(scaled) < 9e18 else { return grouped(Int(min(max(value, -1e15), 1e15))) }
        let whole = Int(scaled)
        var fraction = String(whole.magnitude % UInt(scale))
        while fraction.utf8.count < places { fraction = "0" + fraction }
        while fraction.utf8.last == UInt8(ascii: "0") { fraction.removeLast() }
        let integer = String(whole.magnitude / UInt(scale))
        return (whole < 0 ? "-" : "") + integer + (places == 0 || fraction.isEmpty ? "" : ".\(fraction)")
    }
}
