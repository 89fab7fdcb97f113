internal import GatewayCore
internal import GatewaySupport

/// The text exposition format of Prometheus, version 0.0.4.
enum PrometheusText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    static func write(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families {
            text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for (labels, value) in family.values {
                switch value {
                case .number(let number): text += "\(family.name)\(list(labels)) \(decimal(number))\n"
                case .histogram(let reading): write(reading, family.name, labels, to: &text)
                case .summary(let sum, let count):
                    text += "\(family.name)_sum\(list(labels)) \(decimal(sum))\n"
                    text += "\(family.name)_count\(list(labels)) \(count)\n"
                }
            }
        }
        return text
    }

    private static func write(
        _ reading: Histogram.Reading, _ name: String, _ labels: [MetricFamily.Label], to text: inout String
    ) {
        var count: UInt64 = 0
        for (bound, own) in zip(reading.buckets.bounds, reading.counts) {
            count += own
            let limit = decimal(Double(bound) / reading.buckets.scale)
            text += "\(name)_bucket\(list(labels + [.init("le", limit)])) \(count)\n"
        }
        count += reading.counts.last ?? 0
        text += "\(name)_bucket\(list(labels + [.init("le", "+Inf")])) \(count)\n"
        text += "\(name)_sum\(list(labels)) \(decimal(Double(reading.sum) / reading.buckets.scale))\n"
        text += "\(name)_count\(list(labels)) \(count)\n"
    }

    private static func list(_ labels: [MetricFamily.Label]) -> String {
        if labels.isEmpty { return "" }
        return "{" + labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",") + "}"
    }

    private static func decimal(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number > 0 ? "+Inf" : "-Inf" }
        // Whole numbers are written without a fraction, because people read counters.
        return number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : "\(number)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
