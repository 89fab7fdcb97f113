internal import GatewayCore
internal import GatewaySupport

/// The name and the labels of a series that a library reports, in the grammar of Prometheus.
struct LibrarySeriesKey: Sendable, Hashable {
    /// The name of the metric, with the suffix of its kind: `_total` for counters, `_seconds` for timers.
    let name: String
    /// The labels, sorted by name. No two have the same name.
    let labels: [MetricFamily.Label]
    /// The names of the lines that the metric is written as, and the metric's own name.
    let sampleNames: [String]

    /// The maximum number of characters in a name and in the value of a label.
    private static let longest = 200
    /// Names that begin so belong to the gateway, the process and this bridge.
    private static let reserved = ["notify_gateway_", "process_", "swift_metrics_"]

    /// Creates the key of what a library calls `label` and `dimensions`. Characters that Prometheus does not allow are
    /// replaced by `_`. A name that the gateway or Prometheus reserves gets the prefix `library_`.
    init(label: String, dimensions: [(String, String)], kind: MetricFamily.Kind) {
        var name = Self.sanitized(label)
        if Self.reserved.contains(where: name.hasPrefix) { name = "library_" + name }
        switch kind {
        case .counter: if !name.hasSuffix("_total") { name += "_total" }
        case .histogram: if !name.hasSuffix("_seconds") { name += "_seconds" }
        case .gauge, .summary: break
        }
        self.name = name
        var values: [String: String] = [:]
        for (dimension, value) in dimensions {
            let plain = Self.sanitized(dimension)
            let isReserved = plain.hasPrefix("__") || plain == "le" || plain == "quantile"
            values[isReserved ? "library_" + plain : plain] = String(value.prefix(Self.longest))
        }
        labels = values.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }
        switch kind {
        case .counter, .gauge: sampleNames = [name]
        case .summary: sampleNames = [name, name + "_sum", name + "_count"]
        case .histogram: sampleNames = [name, name + "_bucket", name + "_sum", name + "_count"]
        }
    }

    private static func sanitized(_ text: String) -> String {
        var name = ""
        for scalar in text.unicodeScalars.prefix(longest) {
            switch scalar {
            case "a"..."z", "A"..."Z", "_": name.unicodeScalars.append(scalar)
            case "0"..."9": name += name.isEmpty ? "_\(scalar)" : "\(scalar)"
            default: name += "_"
            }
        }
        return name.isEmpty ? "_" : name
    }
}
