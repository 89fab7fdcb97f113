/// The version of a file that was read: its stamp and a digest of its content. Two looks that find equal versions found
/// the same file, unchanged.
public struct FileVersion: Sendable, Equatable {
    private let stamp: SecretFile.Stamp?
    private let digest: [UInt8]?

    /// Creates the version of a file with the text that was just read from it. Blocks.
    public init(of path: String, text: String) {
        stamp = SecretFile.Stamp(path)
        digest = SHA256.digest(Array(text.utf8))
    }

    /// Returns whether both are of the same file with the same content. A version without a stamp or a digest equals none.
    public static func == (left: FileVersion, right: FileVersion) -> Bool {
        left.stamp != nil && left.digest != nil && left.stamp == right.stamp && left.digest == right.digest
    }
}
