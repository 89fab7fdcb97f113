internal import GatewayCore
internal import Synchronization

/// A signal that the client of a call has disconnected: its HTTP/2 stream was reset, or its connection closed.
///
/// A disconnected call is cancelled only before it is recorded: a pending login or delay ends early. Once the call is
/// recorded, the signal has no effect. Usually signalled and read on the call's event loop; safe on any thread.
public final class ClientDisconnect: Sendable {
    private struct State {
        var hasDisconnected = false
        var watcher: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Creates a signal for a connected client.
    public init() {}

    /// Whether the client has disconnected.
    public var hasDisconnected: Bool { state.withLock(\.hasDisconnected) }

    /// Signals the disconnect and calls the watcher, once.
    public func signal() {
        let watcher = state.withLock { state in
            state.hasDisconnected = true
            defer { state.watcher = nil }
            return state.watcher
        }
        watcher?()
    }

    /// Sets the watcher of the call's current wait. It is called at once if the client has disconnected already. The
    /// call removes it with `stopWatching()` after the wait.
    func watch(_ watcher: @escaping @Sendable () -> Void) {
        let hasDisconnected = state.withLock { state in
            if !state.hasDisconnected { state.watcher = watcher }
            return state.hasDisconnected
        }
        if hasDisconnected { watcher() }
    }

    /// Removes the watcher.
    func stopWatching() { state.withLock { $0.watcher = nil } }
}

extension ClientDisconnect? {
    /// Rejects the call if its client has disconnected.
    func check() throws(Rejection) {
        if let self, self.hasDisconnected { throw Rejection(.requestTimeout, "the client has disconnected") }
    }
}
