import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization

@testable import GatewayOperations

// The operations of tests stand in for operations of the gateway, whose routes they use.

/// Sends its text, 1,000 times with `purge`. With `confirm_all`, fails afterwards.
struct Echo: ControlOperation {
    static let name = "registrations import"
    static let arguments: Set<String> = ["file", "purge", "confirm_all"]

    let ended = Signal()

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        defer { ended.raise() }
        let text = try arguments.text("file") ?? ""
        for _ in 0..<(try arguments.flag("purge") ? 1000 : 1) { try await context.send(.string(text)) }
        if try arguments.flag("confirm_all") { throw .unavailable("The disk is full.") }
        try await context.send(totals: .string("total"))
    }

    /// The request of this operation.
    static func request(_ text: String = "", times thousand: Bool = false, failing: Bool = false) -> ControlRequest {
        ControlRequest(
            name,
            [
                .init("file", .string(text)), .init("purge", .bool(thousand)), .init("confirm_all", .bool(failing)),
            ])
    }
}

/// Ends when the test releases it, even if its peer disconnects.
struct Held: ControlOperation {
    static let name = "backup"
    static let arguments: Set<String> = ["target"]

    let begun = Signal()
    let release = Signal()
    let ended = Signal()

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        begun.raise()
        await release.wait()
        ended.raise()
        try await context.send(.bool(Task.isCancelled))
    }

    /// The request of this operation.
    static let request = ControlRequest(name, [.init("target", .string("/copy"))])
}

/// Lists the numbers from 0 to 2,499.
struct Numbers: ControlOperation {
    static let name = "bans list"
    static let all = (0..<2500).map { JSONValue.number("\($0)") }

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        try await context.send(pageOf: Self.all)
    }
}

/// Writes a record and changes nothing.
struct Recorded: ControlOperation {
    static let name = "reload"

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        try await context.record(.operatorReload, target: "nothing")
        try await context.send(.bool(true))
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
