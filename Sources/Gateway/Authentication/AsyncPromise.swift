internal import Synchronization

/// A promise that any number of tasks can await. Each task resumes on its own event loop.
final class AsyncPromise<Value: Sendable>: Sendable {
    private enum State {
        /// No value yet; holds the waiting tasks. `fulfill(_:)` changes the state to `fulfilled`.
        case pending([CheckedContinuation<Value, Never>])
        /// The value is set. Final.
        case fulfilled(Value)
    }

    private let state = Mutex(State.pending([]))

    /// The value, if it is set.
    var value: Value? {
        state.withLock { state in
            switch state {
            case .pending: nil
            case .fulfilled(let value): value
            }
        }
    }

    /// Sets the value and resumes all waiting tasks. Only the first call has an effect.
    func fulfill(_ value: Value) {
        let waiting: [CheckedContinuation<Value, Never>] = state.withLock { state in
            switch state {
            case .pending(let waiting):
                state = .fulfilled(value)
                return waiting
            case .fulfilled:
                return []
            }
        }
        for continuation in waiting { continuation.resume(returning: value) }
    }

    /// Returns the value, after waiting for it if necessary.
    func get() async -> Value {
        if let value { return value }
        return await withCheckedContinuation { continuation in
            let fulfilled: Value? = state.withLock { state in
                switch state {
                case .pending(let waiting):
                    state = .pending(waiting + [continuation])
                    return nil
                case .fulfilled(let value):
                    return value
                }
            }
            if let fulfilled { continuation.resume(returning: fulfilled) }
        }
    }
}
