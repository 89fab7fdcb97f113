internal import GatewayCore
internal import Logging
internal import Synchronization

/// The log's lines on calls that are refused for want of room: the first at once, of the others their number, once a second.
///
/// A line for each would cost more than the refusal, when there is least to spare. Shared by all loops; takes no lock.
final class OverloadLog: Sendable {
    private let count = Atomic(0)

    /// Counts a refusal; whether it is the first since the others were told.
    func isFirst() -> Bool { count.add(1, ordering: .relaxed).newValue == 1 }

    /// Tells how many there were beside the first.
    func settle(_ logger: Logger) {
        let refused = count.exchange(0, ordering: .relaxed)
        guard refused > 1 else { return }
        logger.warning(
            "More calls were refused",
            metadata: ["code": "\(RefusalCode.overloaded.rawValue)", "count": "\(refused - 1)"])
    }
}
