package import GatewaySupport

/// The reason why something was not delivered to another system.
package struct DeliveryFailure: Error, Sendable, Hashable {
    /// The reason for the log, without a full stop.
    package let reason: String
    /// The wait that the receiver asks for; nil if it does not.
    package var retryAfter: Duration?

    /// Creates a failure.
    package init(_ reason: String, retryAfter: Duration? = nil) {
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// Creates a failure from that of a file.
    package init(_ failure: FileFailure) { self.init(failure.description) }

    /// The failure of work that a stop interrupted.
    package static let stopped = DeliveryFailure("the delivery was stopped")
}
