internal import Foundation
internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The lines of a segment that an unbroken hash chain connects with its beginning.
///
/// Anybody can compute such a chain. Only its part up to the last signed checkpoint proves that the gateway wrote it.
struct SegmentChain {
    /// The number of the last line; nil without a line.
    private(set) var last: UInt64?
    /// The hash of the last line in hexadecimal digits.
    private(set) var hash: [UInt8] = []
    /// The offset behind the last line.
    private(set) var end = 0
    /// The offset behind the last checkpoint that one of the keys signed; 0 without one.
    private(set) var signedEnd = 0

    /// - Parameters:
    ///   - bytes: The bytes of the segment.
    ///   - first: The number of the segment's first line.
    ///   - through: The largest number that a line of the segment may have.
    ///   - keys: The keys that may have signed.
    init(of bytes: [UInt8], from first: UInt64, through: UInt64, signedBy keys: [Ed25519.PublicKey] = []) {
        while let feed = ChainCheck.endOfLine(in: bytes, from: end) {
            let line = JournalLineReader(bytes: bytes[end..<feed])
            guard let number = line.sequence, number == (last.map { $0 + 1 } ?? first), number <= through,
                let hash = line.verifiedHash, last == nil || line.previous == self.hash
            else { return }
            (last, self.hash, end) = (number, hash.hexDigits, feed + 1)
            if !keys.isEmpty, line.isCheckpoint(signedBy: keys) { signedEnd = end }
        }
    }
}

/// The measurements of segments from before the start, each of which is read completely. Thread-safe.
final class SegmentMeasurements: Sendable {
    /// The result of the measurement of one segment.
    enum Result: Sendable {
        /// The number of bytes that the gateway is known to have written.
        case written(UInt64)
        /// The file is not what the gateway wrote.
        case foreign(String)
    }

    private struct State {
        var results: [JournalSegmentName: Result] = [:]
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Returns the results since the last call.
    func takeResults() -> [JournalSegmentName: Result] {
        state.withLock { state in
            defer { state.results = [:] }
            return state.results
        }
    }

    /// Measures segments on a thread of its own, unless one is running. Leaves out those that cannot be read.
    func start(
        _ segments: [JournalSegmentName],
        measure: @escaping @Sendable (JournalSegmentName) throws(FileFailure) -> Result
    ) {
        guard !state.withLock({ exchange(&$0.isRunning, with: true) }) else { return }
        Thread.detachNewThread { [self] in
            for segment in segments {
                guard let result = try? measure(segment) else { continue }
                state.withLock { $0.results[segment] = result }
            }
            state.withLock { $0.isRunning = false }
        }
    }
}
