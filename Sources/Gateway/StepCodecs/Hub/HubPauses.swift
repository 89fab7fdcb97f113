internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The times until which a notification hub accepts no requests of a kind, because it said that it was too busy or that
/// a quota was used up. Requests of the other kind go on.
final class HubPauses: Sendable {
    /// The pause if the hub states none, in seconds.
    static let standard = 10
    /// The longest pause, in seconds. A longer one that the hub states is shortened, so that the gateway asks again.
    static let longest = 300

    // Nanoseconds of the monotonic clock.
    private let registrations = Atomic(Int64.min)
    private let sends = Atomic(Int64.min)
    private let clocks: Clocks

    init(clocks: Clocks) { self.clocks = clocks }

    /// Returns the rest of the pause in seconds, rounded up; nil if there is none.
    func rest(of kind: UpstreamStep.Kind) -> Int? {
        let end =
            switch kind {
            case .registration: registrations.load(ordering: .relaxed)
            case .send: sends.load(ordering: .relaxed)
            }
        // Most calls end here without reading the clock.
        if end == .min { return nil }
        let rest = end - clocks.monotonic().nanoseconds
        return rest > 0 ? Int((rest + 999_999_999) / 1_000_000_000) : nil
    }

    /// Begins a pause.
    ///
    /// - Parameter seconds: The time that the hub states; nil for `standard`.
    /// - Returns: The length of the pause in seconds.
    func begin(_ kind: UpstreamStep.Kind, seconds: Int?) -> Int {
        let length = min(max(seconds ?? Self.standard, 1), Self.longest)
        let end = clocks.monotonic().nanoseconds + Int64(length) * 1_000_000_000
        switch kind {
        case .registration: registrations.store(end, ordering: .relaxed)
        case .send: sends.store(end, ordering: .relaxed)
        }
        return length
    }
}
