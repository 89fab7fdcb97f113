public import GatewayCore

/// A key of the gateway's own in a file of its own, mode 0600: 32 random bytes, made once.
public enum KeyFile {
    /// The length of a key in bytes.
    public static let byteCount = 32

    /// The key cannot be read or made.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What was tried, and what the system says of it.
        public let description: String

        init(description: String) { self.description = description }
    }

    /// The key in the file; a missing one is made where `mayCreate` says so. Blocks; for starts and commands.
    public static func open(_ path: String, mayCreate: Bool = true) throws(Failure) -> Secret {
        do throws(FileFailure) {
            if let bytes = try PrivateFiles.read(path, atMost: byteCount) {
                guard bytes.count == byteCount else {
                    throw FileFailure(unfit: path, "does not hold a key of 32 bytes")
                }
                return Secret(bytes)
            }
            guard mayCreate else { throw FileFailure(unfit: path, "is missing") }
            var source = SystemRandomNumberGenerator()
            let bytes = (0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &source) }
            try PrivateFiles.write(bytes, toNew: path)
            return Secret(bytes)
        } catch {
            throw Failure(description: error.description)
        }
    }
}
