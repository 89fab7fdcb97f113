public import GatewayCore
internal import Synchronization

/// An authenticator that suspends its callers until the test provides an outcome.
public final class LateAuthenticator: Authenticator {
    private struct State {
        var outcome: AuthenticationOutcome?
        var waiting: [CheckedContinuation<AuthenticationOutcome, Never>] = []
        var watchers: [(count: Int, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Creates an authenticator without an outcome.
    public init() {}

    /// Returns once this many callers are suspended.
    public func untilWaiting(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let there = state.withLock { state in
                if state.waiting.count >= count { return true }
                state.watchers.append((count, continuation))
                return false
            }
            if there { continuation.resume() }
        }
    }

    /// Resumes all suspended callers with the outcome, and returns it to all later callers.
    public func respond(_ outcome: AuthenticationOutcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    /// Suspends until `response(_:)` is called.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiting.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
            for watcher in watchersSatisfied() { watcher.resume() }
        }
    }
    private func watchersSatisfied() -> [CheckedContinuation<Void, Never>] {
        state.withLock { state in
            let there = state.waiting.count
            defer { state.watchers.removeAll { $0.count <= there } }
            return state.watchers.filter { $0.count <= there }.map { $0.1 }
        }
    }
}
