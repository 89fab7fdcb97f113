/// A value of a configuration file with the place where it stands: what a YAML document is reduced to.
public struct ConfigurationNode: Sendable {
    /// The shapes that a value may have.
    public indirect enum Shape: Sendable {
        /// Text. `isPlain` is false for quoted text, which is never a number, a Boolean or null.
        case scalar(String, isPlain: Bool)
        /// A list.
        case sequence([ConfigurationNode])
        /// Names and values, in order; names are unique.
        case mapping([Entry])
    }

    /// One name and its value.
    public struct Entry: Sendable {
        /// The name.
        public var name: String
        /// Where the name stands.
        public var location: SourceLocation
        /// The value.
        public var value: ConfigurationNode

        /// An entry from its parts.
        public init(name: String, location: SourceLocation, value: ConfigurationNode) {
            self.name = name
            self.location = location
            self.value = value
        }
    }

    /// What the value is.
    public var shape: Shape
    /// Where it stands.
    public var location: SourceLocation

    /// A value from its parts.
    public init(_ shape: Shape, at location: SourceLocation) {
        self.shape = shape
        self.location = location
    }

    /// Whether the value is YAML's null: nothing at all, `~` or `null`, unquoted.
    public var isNull: Bool {
        if case .scalar(let text, isPlain: true) = shape { return ["", "~", "null", "Null", "NULL"].contains(text) }
        return false
    }
}
