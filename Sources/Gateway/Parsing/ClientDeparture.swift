internal import GatewayCore
internal import Synchronization

/// Says that nobody waits for the answer to a call any more, where that is known: a stream of HTTP/2 was reset, or its connection
/// is gone.
///
/// Until the call is recorded it then ends: a login is given up, a wait is over. From the record on it makes no difference.
/// Announced and asked on the call's event loop, as a rule; safe on any.
public final class ClientDeparture: Sendable {
    private struct State {
        var hasLeft = false
        var watcher: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// The client is there.
    public init() {}

    /// Whether it has left.
    public var hasLeft: Bool { state.withLock(\.hasLeft) }

    /// The client has left; whoever watches is told, once.
    public func announce() {
        let watcher = state.withLock { state in
            state.hasLeft = true
            defer { state.watcher = nil }
            return state.watcher
        }
        watcher?()
    }

    /// Has the one wait that the call is in told when the client leaves, at once where it has; the wait says when it is over.
    func watch(_ watcher: @escaping @Sendable () -> Void) {
        let hasLeft = state.withLock { state in
            if !state.hasLeft { state.watcher = watcher }
            return state.hasLeft
        }
        if hasLeft { watcher() }
    }

    /// The wait is over.
    func endWatch() { state.withLock { $0.watcher = nil } }
}

extension ClientDeparture? {
    /// Ends a call that nobody waits for.
    func check() throws(Refusal) {
        if let self, self.hasLeft { throw Refusal(.requestTimeout, "the client has left") }
    }
}
