package import GatewaySupport
internal import Synchronization

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

/// A lock-free generator of call ids. Each generator counts in a number range (lane) of its own, so that ids are unique
/// within the process.
public struct CallIDGenerator: Sendable {
    private static let process = UInt64.random(in: .min ... .max)
    private static let nextLane = Atomic<UInt64>(0)
    // 2^40 ids a lane, 2^24 lanes. A generator that has used up its lane moves to a new one.
    private static let laneBits: UInt64 = 40

    private var number = CallIDGenerator.newLane()

    /// Creates a generator with a lane of its own.
    public init() {}

    /// Returns the next id.
    public mutating func next() -> CallID {
        number &+= 1
        if number & ((1 << Self.laneBits) - 1) == 0 { number = Self.newLane() + 1 }
        return CallID(process: Self.process, number: number)
    }

    private static func newLane() -> UInt64 {
        nextLane.wrappingAdd(1, ordering: .relaxed).oldValue << laneBits
    }
}
