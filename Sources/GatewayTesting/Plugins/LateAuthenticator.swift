public import GatewayCore

/// An authenticator that suspends its callers until the test provides an outcome.
public final class LateAuthenticator: Authenticator {
    private struct State {
        var outcome: AuthenticationOutcome?
        var waiting: [CheckedContinuation<AuthenticationOutcome, Never>] = []
    }

    private let state = AwaitableValue(State())

    /// Creates an authenticator without an outcome.
    public init() {}

    /// Returns once this many callers are suspended.
    public func untilWaiting(_ count: Int) async { await state.wait { $0.waiting.count >= count } }

    /// Resumes all suspended callers with the outcome, and returns it to all later callers.
    public func respond(_ outcome: AuthenticationOutcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    /// Suspends until `respond(_:)` is called.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiting.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}
