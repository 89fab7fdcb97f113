/// Tells whether two mappings of a configuration say the same, wherever they stand in their files.
///
/// A digest, so that no secret of a configuration is kept for the comparison.
public struct ConfigurationFingerprint: Sendable, Hashable {
    private let digest: [UInt8]?

    fileprivate init(_ node: ConfigurationNode) {
        var bytes: [UInt8] = []
        node.write(to: &bytes)
        digest = SHA256.digest(bytes)
    }

    /// Equal where what they were made of is. Without a digest nothing is.
    public static func == (left: ConfigurationFingerprint, right: ConfigurationFingerprint) -> Bool {
        left.digest != nil && left.digest == right.digest
    }

    /// By the digest.
    public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}

extension ConfigurationReader {
    /// What the mapping says, its values expanded.
    public var fingerprint: ConfigurationFingerprint {
        ConfigurationFingerprint(ConfigurationNode(.mapping(entriesInOrder.sorted { $0.name < $1.name }), at: location))
    }
}

extension ConfigurationNode {
    /// Every value with its kind and its length before it, so that nothing reads as something else.
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
