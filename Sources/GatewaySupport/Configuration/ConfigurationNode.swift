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

/// A digest of a configuration mapping, independent of where the mapping stands in its file. Equal fingerprints mean
/// equal contents.
///
/// A digest is kept, and not the mapping, so that no secret of the configuration is retained for the comparison.
public struct ConfigurationFingerprint: Sendable, Hashable {
    private let digest: [UInt8]?

    fileprivate init(_ node: ConfigurationNode) {
        var bytes: [UInt8] = []
        node.write(to: &bytes)
        digest = SHA256.digest(bytes)
    }

    /// Returns whether both were made of equal contents. A fingerprint without a digest equals none.
    public static func == (left: ConfigurationFingerprint, right: ConfigurationFingerprint) -> Bool {
        left.digest != nil && left.digest == right.digest
    }

    /// Hashes the digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

extension ConfigurationReader {
    /// The fingerprint of the mapping, with its values expanded.
    public var fingerprint: ConfigurationFingerprint {
        ConfigurationFingerprint(ConfigurationNode(.mapping(entriesInOrder.sorted { $0.name < $1.name }), at: location))
    }
}

extension ConfigurationNode {
    /// Appends each value with its kind and length in front, so that different contents never produce the same bytes.
    fileprivate func write(to bytes: inout [UInt8]) {
        func write(_ kind: Character, _ count: Int) { bytes += "\(kind)\(count):".utf8 }
        switch shape {
        case .scalar(let text, let isPlain):
            write(isPlain ? "p" : "q", text.utf8.count)
            bytes += text.utf8
        case .sequence(let values):
            write("s", values.count)
            for value in values { value.write(to: &bytes) }
        case .mapping(let entries):
            write("m", entries.count)
            for entry in entries.sorted(by: { $0.name < $1.name }) {
                write("n", entry.name.utf8.count)
                bytes += entry.name.utf8
                entry.value.write(to: &bytes)
            }
        }
    }
}
