public import GatewaySupport

/// The register of sends with an idempotency key that several gateways share, so that a send that is repeated at another
/// gateway is not made twice.
///
/// A send is registered before it is recorded, and its result once that is known. Sends expire after 24 hours.
public protocol KeyedSendRegister: Sendable {
    /// Registers a send as in flight, unless one with the same key is registered. A new send is on disk when this returns.
    ///
    /// Called on an event loop; resumes on the same.
    ///
    /// - Throws: If the register cannot be read and written now. The send must not be made then.
    func insert(_ send: KeyedSend) async throws(LedgerUnavailable) -> KeyedSendState

    /// Stores the result of a send that `insert(_:)` registered under the number; removes a send that was not made.
    /// Ignores a send that is not registered any more. Does not wait.
    func complete(_ send: KeyedSend, number: UInt64, _ result: KeyedSendResult)

    /// Removes the sends of a user, so that a later user with the same name starts without any. Returns once they are
    /// removed on disk.
    func removeAll(of user: UserName) async throws(LedgerUnavailable)
}

/// A send with an idempotency key.
public struct KeyedSend: Sendable, Hashable {
    /// The sender.
    public let user: UserName
    /// The recipient: a user name, or `audience:` and the name of an audience.
    public let target: String
    /// The push service.
    public let service: PushService
    /// The keyed digest of the idempotency key. It identifies the send together with user, target and service.
    public let key: KeyedDigest
    /// The keyed digest of the message.
    public let message: KeyedDigest

    /// Creates a send.
    public init(user: UserName, target: String, service: PushService, key: KeyedDigest, message: KeyedDigest) {
        self.user = user
        self.target = target
        self.service = service
        self.key = key
        self.message = message
    }
}

/// The state of a send before a call that makes or repeats it.
public enum KeyedSendState: Sendable, Hashable {
    /// The send was not registered and now is, under this number of at least 1. The caller makes it.
    case inserted(number: UInt64)
    /// Another call is making the same send.
    case inFlight
    /// The key was used before with a different message.
    case differentMessage
    /// The send completed.
    case completed(CallResult, response: [UInt8])
    /// The send may have been made.
    case unknown
}

/// The result of a registered send.
public enum KeyedSendResult: Sendable, Hashable {
    /// The send certainly did not reach the backend.
    case notSent
    /// The send may have reached the backend.
    case unknown
    /// The result is certain. The response is stored as it is.
    case completed(CallResult, response: [UInt8])
}
