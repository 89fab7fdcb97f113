internal import GatewaySupport

/// The values of a template, by name.
///
/// Templates escape every value for HTML, except pictures, which are markup that this program made (`{{{…}}}`).
typealias PageModel = [String: Any]

extension JSONValue {
    /// The values of an array; nil for another value.
    var items: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
}

/// Values in the form in which pages show them.
enum PageValues {
    /// Returns a JSON value as templates read it: objects as dictionaries, numbers as text, null as nothing.
    static func model(_ value: JSONValue) -> Any? {
        switch value {
        case .null: nil
        case .bool(let flag): flag
        case .number(let text), .string(let text): text
        case .array(let values): values.compactMap(model)
        case .object(let members): model(members)
        }
    }

    /// Returns the members of a JSON object as templates read them.
    static func model(_ members: [JSONValue.Member]) -> PageModel {
        members.reduce(into: [:]) { values, member in
            if let value = model(member.value) { values[member.name] = value }
        }
    }

    /// Returns the time of a record for people: `2026-11-25 18:04:09`, in UTC, without the fraction of the second.
    static func time(_ rfc3339: String?) -> String {
        guard let rfc3339, rfc3339.utf8.count >= 19 else { return "" }
        return String(rfc3339.prefix(19).map { $0 == "T" ? " " : $0 })
    }

    /// Returns a number with separators of thousands: `12,345`.
    static func number(_ value: some BinaryInteger) -> String {
        var digits = String(value.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits = String(digits.dropLast(3))
        }
        return (value < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// Returns a size for people: `12.3 MiB`.
    static func size(_ bytes: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var (value, unit) = (Double(bytes), 0)
        while value >= 1024, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        if unit == 0 { return "\(bytes) B" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
