/// One metric as it is shown: its name, what it says, and its values, each with its labels.
public struct MetricFamily: Sendable {
    /// What may be done with the values.
    public enum Kind: String, Sendable {
        /// They only grow.
        case counter
        /// They go up and down.
        case gauge
        /// They are spread over buckets.
        case histogram
    }

    /// A label of a value: a name of the gateway's own and a word of a closed set, or of the configuration. Never a user.
    public struct Label: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value.
        public let value: String

        /// A label.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A value with its labels.
    public enum Value: Sendable {
        /// A number.
        case number(Double)
        /// What a histogram has seen.
        case spread(Histogram.Reading)
    }

    /// The name, `notify_gateway_` before it.
    public let name: String
    /// One sentence.
    public let help: String
    /// What may be done with the values.
    public let kind: Kind
    /// The values.
    public var values: [(labels: [Label], value: Value)]

    /// A metric with its values.
    public init(_ name: String, _ kind: Kind, _ help: String, _ values: [(labels: [Label], value: Value)]) {
        self.name = name
        self.kind = kind
        self.help = help
        self.values = values
    }

    /// A metric of a single number.
    public init(_ name: String, _ kind: Kind, _ help: String, _ number: Double) {
        self.init(name, kind, help, [([], .number(number))])
    }
}
