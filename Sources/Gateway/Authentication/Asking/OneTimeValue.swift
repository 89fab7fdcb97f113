internal import Synchronization

/// A promise that any number of tasks can await. Each task resumes on its own event loop.
final class OneTimeValue<Value: Sendable>: Sendable {
    private enum State {
        case awaited([CheckedContinuation<Value, Never>])
        case given(Value)
    }

    private let state = Mutex(State.awaited([]))

    /// The value, if it is set.
    var given: Value? {
        state.withLock { state in
            switch state {
            case .awaited: nil
            case .given(let value): value
            }
        }
    }

    /// Sets the value and resumes all waiting tasks. Only the first call has an effect.
    func give(_ value: Value) {
        let waiting: [CheckedContinuation<Value, Never>] = state.withLock { state in
            switch state {
            case .awaited(let waiting):
                state = .given(value)
                return waiting
            case .given:
                return []
            }
        }
        for continuation in waiting { continuation.resume(returning: value) }
    }

    /// Returns the value, after waiting for it if necessary.
    func get() async -> Value {
        if let given { return given }
        return await withCheckedContinuation { continuation in
            let given: Value? = state.withLock { state in
                switch state {
                case .awaited(let waiting):
                    state = .awaited(waiting + [continuation])
                    return nil
                case .given(let value):
                    return value
                }
            }
            if let given { continuation.resume(returning: given) }
        }
    }
}
