internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The permission to make a send under its key. A claim that is dropped without a result removes the entry of the send,
/// because the send was not made.
///
/// - Created: Without an entry, for a store in memory. `insert()` stores the entry. Dropping the claim has no effect.
/// - Inserted: `complete(_:)` sets the result. Dropping the claim removes the entry. A claim of the shared register begins
///   in this state.
/// - Completed: further calls of `complete(_:)` have no effect.
final class IdempotencyClaim: Sendable {
    private enum Place {
        case memory(IdempotencyStore, IdempotencyStore.Scope, message: KeyedDigest)
        case register(any KeyedSendRegister, KeyedSend)
    }

    private static let noEntry: UInt64 = 0

    private let place: Place
    /// The number of the entry, at least 1; 0 before `insert()` and after completion.
    private let number: Atomic<UInt64>

    /// Creates a claim without an entry.
    init(scope: IdempotencyStore.Scope, message: KeyedDigest, store: IdempotencyStore) {
        place = .memory(store, scope, message: message)
        number = Atomic(Self.noEntry)
    }

    /// Creates the claim of a send that the register has entered under the number.
    init(_ send: KeyedSend, number: UInt64, in register: any KeyedSendRegister) {
        place = .register(register, send)
        self.number = Atomic(number)
    }

    deinit { finish(.notSent) }

    /// Stores the admitted send, unless the register has it. Called once, before the send is recorded.
    ///
    /// - Throws: `idempotency-in-progress` if another call with the same key was admitted meanwhile.
    func insert() throws(Rejection) {
        switch place {
        case .register: break
        case .memory(let store, let scope, let message):
            guard let entry = store.insert(scope, message) else { throw .sendInFlight }
            number.store(entry, ordering: .relaxed)
        }
    }

    /// Sets the result of the send. Only the first call has an effect.
    func complete(_ outcome: IdempotentResult) { finish(outcome) }

    private func finish(_ outcome: IdempotentResult) {
        let entry = number.exchange(Self.noEntry, ordering: .relaxed)
        guard entry != Self.noEntry else { return }
        switch place {
        case .memory(let store, let scope, _): store.complete(scope, entry, outcome)
        case .register(let register, let send): register.complete(send, number: entry, KeyedSendResult(outcome))
        }
    }
}

extension Rejection {
    /// The rejection of a send while another call makes the send with the same key.
    static var sendInFlight: Rejection {
        Rejection(.idempotencyInProgress, "a send with this key is in progress", extra: .retryAfter(seconds: 1))
    }
}
