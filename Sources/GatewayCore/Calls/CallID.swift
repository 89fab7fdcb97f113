package import GatewaySupport

/// The id of one call. It appears in the journal and the log, and as `X-Request-Id` in the response and upstream.
///
/// 32 hexadecimal digits: 64 random bits of the process, then a number that is unique within the process. Not a secret.
public struct CallID: Sendable, Hashable, CustomStringConvertible {
    /// A random number drawn once per process.
    public let process: UInt64
    /// A number that is unique within the process.
    public let number: UInt64

    /// Creates an id from its halves. Called by `CallIDGenerator`.
    public init(process: UInt64, number: UInt64) {
        self.process = process
        self.number = number
    }

    /// The id as 32 lower-case hexadecimal digits.
    public var text: String {
        String(unsafeUninitializedCapacity: 32) { text in
            var digits = ByteWriter(text)
            write(to: &digits)
            return 32
        }
    }

    /// Appends the 32 digits.
    package func write(to bytes: inout ByteWriter) {
        bytes.append(hexDigitsOf: process)
        bytes.append(hexDigitsOf: number)
    }

    /// The id as 32 lower-case hexadecimal digits.
    public var description: String { text }
}
