public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A register of sends with an idempotency key in memory. Can be made to fail.
public final class MemoryKeyedSends: KeyedSendRegister {
    private struct Key: Hashable {
        let user: UserName
        let target: String
        let service: PushService
        let key: KeyedDigest

        init(_ send: KeyedSend) { (user, target, service, key) = (send.user, send.target, send.service, send.key) }
    }

    private struct Entry {
        let number: UInt64
        let message: KeyedDigest
        var result: KeyedSendResult?
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var insertions: UInt64 = 0
        var failure: LedgerUnavailable?
    }

    private let state = Mutex(State())

    /// Creates an empty register.
    public init() {}

    /// The number of registered sends.
    public var count: Int { state.withLock(\.entries.count) }
    /// The number of calls of `insert(_:)`.
    public var insertions: Int { state.withLock { Int($0.insertions) } }

    /// Makes insertions fail, until it is called with nil.
    public func fail(_ failure: LedgerUnavailable?) { state.withLock { $0.failure = failure } }

    /// Replaces the stored responses with these bytes.
    public func replaceResponses(with bytes: [UInt8]) {
        state.withLock { state in
            for (key, entry) in state.entries {
                if case .completed(let result, _) = entry.result {
                    state.entries[key]?.result = .completed(result, response: bytes)
                }
            }
        }
    }

    /// Registers a send.
    public func insert(_ send: KeyedSend) async throws(LedgerUnavailable) -> KeyedSendState {
        try result(of: send).get()
    }

    private func result(of send: KeyedSend) -> Result<KeyedSendState, LedgerUnavailable> {
        state.withLock { state in
            state.insertions += 1
            if let failure = state.failure { return .failure(failure) }
            guard let entry = state.entries[Key(send)] else {
                state.entries[Key(send)] = Entry(number: state.insertions, message: send.message)
                return .success(.inserted(number: state.insertions))
            }
            guard entry.message == send.message else { return .success(.differentMessage) }
            switch entry.result {
            case nil: return .success(.inFlight)
            case .completed(let result, let response): return .success(.completed(result, response: response))
            case .unknown, .notSent: return .success(.unknown)
            }
        }
    }

    /// Stores the result of a send, or removes it.
    public func complete(_ send: KeyedSend, number: UInt64, _ result: KeyedSendResult) {
        state.withLock { state in
            guard state.entries[Key(send)]?.number == number else { return }
            if result == .notSent {
                state.entries[Key(send)] = nil
            } else {
                state.entries[Key(send)]?.result = result
            }
        }
    }

    /// Removes the sends of a user.
    public func removeAll(of user: UserName) {
        state.withLock { state in state.entries = state.entries.filter { $0.key.user != user } }
    }
}
