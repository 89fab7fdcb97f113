internal import Synchronization

/// A value that is given once and that any number of tasks wait for, each resumed on its own loop.
final class OneTimeValue<Value: Sendable>: Sendable {
    private enum State {
        case awaited([CheckedContinuation<Value, Never>])
        case given(Value)
    }

    private let state = Mutex(State.awaited([]))

    /// The value, where it was given already.
    var given: Value? {
        state.withLock { state in
            switch state {
            case .awaited: nil
            case .given(let value): value
            }
        }
    }

    /// Gives the value. The first one counts; further ones are dropped.
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

    /// The value, waited for where it has not been given.
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
