internal import GatewaySupport

/// The wall-clock time, compared with the monotonic clock.
///
/// Their difference changes only when the wall clock is set, or when the machine was suspended: corrections of its rate
/// affect both clocks.
struct ComparedTime: Sendable, Hashable {
    /// Microseconds since 1970.
    let time: Int64
    /// The difference of the clocks, in microseconds.
    private let difference: Int64

    /// The largest change of the difference that affects no count: lines up to a minute in the future count.
    private static let tolerance: Int64 = 60_000_000

    /// Reads both clocks.
    init(_ clocks: Clocks) {
        time = clocks.wall().microseconds
        difference = time - clocks.monotonic().nanoseconds / 1000
    }

    /// Returns whether the wall clock was set by more than a minute since the earlier reading.
    func isStep(from earlier: ComparedTime) -> Bool { abs(difference - earlier.difference) > Self.tolerance }
}
