import Synchronization

/// A signal that one part of a test raises and another awaits. It stays raised.
final class Signal: Sendable {
    private enum State {
        case lowered([CheckedContinuation<Void, Never>])
        case raised
    }

    private let state = Mutex(State.lowered([]))

    func raise() {
        let waiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
            defer { state = .raised }
            if case .lowered(let waiters) = state { return waiters }
            return []
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isRaised = state.withLock { state in
                guard case .lowered(let waiters) = state else { return true }
                state = .lowered(waiters + [continuation])
                return false
            }
            if isRaised { continuation.resume() }
        }
    }
}
