import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization

@testable import GatewayOperations

/// An operation that returns its text argument, once per item.
struct Echo: ControlOperation {
    static let name = "echo"
    static let arguments: Set<String> = ["text", "times"]

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let text = try arguments.text("text") ?? ""
        for _ in 0..<(try arguments.number("times") ?? 1) { try await context.send(.string(text)) }
    }
}

/// An operation that runs until it is cancelled.
struct Ticks: ControlOperation {
    static let name = "ticks"
    static let isStream = true

    let cancelled = Signal()

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        try await context.send(.string("tick"))
        await withTaskCancellationHandler {
            await cancelled.wait()
        } onCancel: {
            cancelled.raise()
        }
    }
}

/// An operation that ends when the test releases it, even if its peer disconnects.
struct Held: ControlOperation {
    static let name = "held"

    let begun = Signal()
    let release = Signal()
    let ended = Signal()

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        begun.raise()
        await release.wait()
        ended.raise()
        try await context.send(.bool(Task.isCancelled))
    }
}

/// An operation that writes a record and changes nothing.
struct Recorded: ControlOperation {
    static let name = "recorded"

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        try await context.record(.operatorReload, target: "nothing")
    }
}

extension ControlOperations {
    static func test(
        _ operations: [any ControlOperation], journal: any Journal = MemoryJournal()
    ) -> ControlOperations {
        ControlOperations(operations, journal: journal, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}

/// A signal that one task raises and others await without a clock. It stays raised.
final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func raise() {
        let waiters = state.withLock { state in
            defer { state = State(isRaised: true) }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { waiter in
            let isRaised = state.withLock { state in
                if !state.isRaised { state.waiters.append(waiter) }
                return state.isRaised
            }
            if isRaised { waiter.resume() }
        }
    }
}
