internal import Synchronization

/// A value behind a lock that several parts of a test change, and whose changes a test can await.
///
/// It replaces loops that read a value until it has changed.
public final class AwaitableValue<Value: Sendable>: Sendable {
    private struct Waiter {
        let number: Int
        let isMet: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var value: Value
        var lastNumber = 0
        var waiters: [Waiter] = []
    }

    private let state: Mutex<State>

    /// Creates the box with its first value.
    public init(_ value: Value) { state = Mutex(State(value: value)) }

    /// The value at this moment.
    public var current: Value { state.withLock { $0.value } }

    /// Runs the body on the value, then resumes the waiters whose condition holds.
    ///
    /// The conditions run under the lock, and must not use this object.
    @discardableResult
    public func withLock<Result: Sendable>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        let (result, met) = try state.withLock { state in
            let result = try body(&state.value)
            let met = state.waiters.filter { $0.isMet(state.value) }
            if !met.isEmpty {
                let numbers = Set(met.map(\.number))
                state.waiters.removeAll { numbers.contains($0.number) }
            }
            return (result, met)
        }
        for waiter in met { waiter.continuation.resume() }
        return result
    }

    /// Returns once the condition holds. Returns early if the task is cancelled, as the time limit of a test does.
    public func wait(until isMet: @escaping @Sendable (Value) -> Bool) async {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // If the task was cancelled earlier, the cancellation handler has found no waiter.
                    if isMet(state.value) || Task.isCancelled { return true }
                    state.waiters.append(Waiter(number: number, isMet: isMet, continuation: continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.first { $0.number == number }
                state.waiters.removeAll { $0.number == number }
                return waiter
            }
            waiter?.continuation.resume()
        }
    }
}

/// A signal that one part of a test raises and another awaits. It stays raised.
public final class Signal: Sendable {
    private let raised = AwaitableValue(false)

    /// Creates a signal that is not raised.
    public init() {}

    /// Raises the signal.
    public func raise() { raised.withLock { $0 = true } }

    /// Returns once the signal is raised.
    public func wait() async { await raised.wait { $0 } }
}
