/// One exported metric: its name, its help text, and its labelled values.
public struct MetricFamily: Sendable {
    /// The type of a metric.
    public enum Kind: String, Sendable {
        /// The values only increase.
        case counter
        /// The values increase and decrease.
        case gauge
        /// The values are distributed over buckets.
        case histogram
        /// The values are counted and summed up.
        case summary
    }

    /// A label of a value. Its value comes from a closed set or from the configuration, and is never a user.
    public struct Label: Sendable, Hashable {
        /// The name.
        public let name: String
        /// The value.
        public let value: String

        /// Creates a label.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A sample value.
    public enum Value: Sendable {
        /// A number.
        case number(Double)
        /// The contents of a histogram.
        case histogram(Histogram.Reading)
        /// The sum and the count of the values of a summary, which has no quantiles.
        case summary(sum: Double, count: UInt64)
    }

    /// The name. It starts with `notify_gateway_`, except for metrics of the process and of libraries.
    public let name: String
    /// The help text: one sentence.
    public let help: String
    /// The type.
    public let kind: Kind
    /// The values with their labels.
    public var values: [(labels: [Label], value: Value)]

    /// Creates a metric.
    public init(_ name: String, _ kind: Kind, _ help: String, _ values: [(labels: [Label], value: Value)]) {
        self.name = name
        self.kind = kind
        self.help = help
        self.values = values
    }

    /// Creates a metric with a single value without labels.
    public init(_ name: String, _ kind: Kind, _ help: String, _ number: Double) {
        self.init(name, kind, help, [([], .number(number))])
    }
}
