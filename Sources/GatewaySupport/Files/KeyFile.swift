/// A key of the gateway: a file of mode 0600 with 32 random bytes, created once.
public enum KeyFile {
    /// The length of a key in bytes.
    public static let byteCount = 32

    /// The error thrown if the key cannot be read or created.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The failed operation and the system's message.
        public let description: String

        package init(description: String) { self.description = description }
    }

    /// Reads the key in the file, or creates it if `mayCreate` is true. Blocks; intended for startup and commands.
    public static func open(_ path: String, mayCreate: Bool = true) throws(Failure) -> Secret {
        do throws(FileFailure) {
            if let bytes = try PrivateFiles.read(path, atMost: byteCount) {
                guard bytes.count == byteCount else {
                    throw FileFailure(unfit: path, "does not contain a key of 32 bytes")
                }
                return Secret(bytes)
            }
            guard mayCreate else { throw FileFailure(unfit: path, "is missing") }
            let bytes = RandomBytes.make(byteCount)
            try PrivateFiles.write(bytes, toNew: path)
            return Secret(bytes)
        } catch {
            throw Failure(description: error.description)
        }
    }
}
