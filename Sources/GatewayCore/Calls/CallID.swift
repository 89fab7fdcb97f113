/// The id of one call: in the journal, in the log, answered as `X-Request-Id` and sent upstream.
///
/// 32 hexadecimal digits: 64 random bits of the process and a number that no other call of the process has. Not a secret.
public struct CallID: Sendable, Hashable, CustomStringConvertible {
    /// Drawn anew by each process.
    public let process: UInt64
    /// Unique within the process.
    public let number: UInt64

    /// Puts an id together; the listener does.
    public init(process: UInt64, number: UInt64) {
        self.process = process
        self.number = number
    }

    /// 32 lower-case hexadecimal digits.
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

    /// 32 lower-case hexadecimal digits.
    public var description: String { text }
}
