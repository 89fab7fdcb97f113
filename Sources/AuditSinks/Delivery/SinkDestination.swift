internal import GatewaySupport
internal import OutboundHTTP

/// The receiver of a sink's records. Used by one task at a time.
protocol SinkDestination: Sendable {
    /// The maximum number of records in a batch.
    var maximumRecords: Int { get }
    /// Whether confirmed lines have to be sent again. A batch without lines then sends them.
    var hasUnsent: Bool { get }

    /// The longest wait after a failure.
    var longestRetryDelay: Duration { get }

    /// Delivers the batch and returns once the receiver has confirmed it. The lines of a batch that throws are
    /// delivered again.
    func deliver(_ batch: SinkBatch) async throws(DeliveryFailure)

    /// Returns the number of the first record that the receiver does not have; 0 for the oldest. Nil for a receiver that
    /// does not know: the sink then keeps its position in a file.
    func position() async throws(DeliveryFailure) -> UInt64?

    /// Closes the connections.
    func close() async
}

extension SinkDestination {
    /// The default: a confirmation is final.
    var hasUnsent: Bool { false }

    /// The default: five minutes.
    var longestRetryDelay: Duration { .seconds(300) }

    /// The default: the receiver does not know.
    func position() async throws(DeliveryFailure) -> UInt64? { nil }
}

/// Successive lines of the journal that are delivered together.
struct SinkBatch: Sendable {
    /// The lines, each with its line feed.
    let lines: [UInt8]
    /// The number of lines.
    let count: Int
    /// The number of the line from which the lines were read; 0 for the oldest. The first line has a larger one if lines
    /// are missing.
    var start: UInt64 = 0

    /// The maximum number of bytes of a batch that has more than one line.
    static let maximumBytes = 1 << 20

    /// Calls the closure with each line, without its line feed.
    func forEachLine<Failure>(_ body: (ArraySlice<UInt8>) throws(Failure) -> Void) throws(Failure) {
        var start = 0
        while start < lines.count {
            let end = lines[start...].firstIndex(of: UInt8(ascii: "\n")) ?? lines.count
            try body(lines[start..<end])
            start = end + 1
        }
    }
}
