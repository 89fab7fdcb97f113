/// A value of a configuration file with its location. A YAML document is converted to a tree of these.
public struct ConfigurationNode: Sendable {
    /// The kinds of value.
    public indirect enum Shape: Sendable {
        /// Text. `isPlain` is false for quoted text, which is never read as a number, a Boolean or null.
        case scalar(String, isPlain: Bool)
        /// A list.
        case sequence([ConfigurationNode])
        /// Names and values in the order of the file. Names are unique.
        case mapping([Entry])
    }

    /// One name and its value.
    public struct Entry: Sendable {
        /// The name.
        public var name: String
        /// The location of the name.
        public var location: SourceLocation
        /// The value.
        public var value: ConfigurationNode

        /// Creates an entry.
        public init(name: String, location: SourceLocation, value: ConfigurationNode) {
            self.name = name
            self.location = location
            self.value = value
        }
    }

    /// The kind and content of the value.
    public var shape: Shape
    /// The location of the value.
    public var location: SourceLocation

    /// Creates a value.
    public init(_ shape: Shape, at location: SourceLocation) {
        self.shape = shape
        self.location = location
    }

    /// Whether the value is YAML's null: empty, `~` or `null`, unquoted.
    public var isNull: Bool {
        if case .scalar(let text, isPlain: true) = shape { return ["", "~", "null", "Null", "NULL"].contains(text) }
        return false
    }
}
