public import GatewayCore
internal import Synchronization

/// The ends of many accounts at once, which wait for the word of an operator.
///
/// A users file or a directory that has lost its entries looks like one from which they were removed. What ends with an
/// account cannot be undone: its devices are deleted at the backend. So if more than ten users, and more than a tenth of
/// all, are missing at once, they keep everything until an operator says that they have ended (`accounts apply`). Few
/// others that end meanwhile do not wait with them. Safe on any thread.
public final class MassEnds: Sendable {
    /// The source that reports the ends.
    public enum Source: Sendable, Hashable {
        /// The account lists of an authenticator.
        case lists(PluginName)
        /// The recheck of the accounts of an authenticator without a list.
        case recheck(PluginName)

        /// The authenticator.
        public var authenticator: PluginName {
            switch self {
            case .lists(let name), .recheck(let name): name
            }
        }
    }

    private struct State {
        var held: [Source: Set<UserName>] = [:]
        var confirmed: [Source: Set<UserName>] = [:]
        /// Whether all ends of the lists are confirmed, which are compared next.
        var confirmsLists = false
    }

    /// The number of users whose accounts may end at once; a tenth of all users if that is more.
    public static let maximumUsers = 10

    private let state = Mutex(State())

    /// Creates the state in which nothing waits.
    public init() {}

    /// Returns those of the ended users whose accounts may end now. The others wait, in place of those of the source that
    /// waited before.
    ///
    /// - Parameters:
    ///   - ended: All users of the source whose accounts are missing.
    ///   - present: The users of the source whose accounts are good. Each of them needs another word to end.
    ///   - count: The number of all users of the source.
    public func admit(
        _ ended: Set<UserName>, besides present: Set<UserName>, of count: Int, from source: Source
    ) -> Set<UserName> {
        state.withLock { state in
            var confirmed = state.confirmed[source, default: []].subtracting(present.subtracting(ended))
            if state.confirmsLists, case .lists = source { confirmed.formUnion(ended) }
            state.confirmed[source] = confirmed.isEmpty ? nil : confirmed
            let others = ended.subtracting(confirmed)
            let limit = max(Self.maximumUsers, count / 10)
            let waiting = others.intersection(state.held[source, default: []])
            let held = others.count <= limit ? [] : others.count - waiting.count <= limit ? waiting : others
            state.held[source] = held.isEmpty ? nil : held
            return ended.subtracting(held)
        }
    }

    /// Confirms the ends that wait, by the word of an operator. Returns their users.
    ///
    /// - Parameter includesLists: Whether the word is also about the lists that have not been compared yet, up to
    ///   `listsAreApplied()`.
    public func confirm(includesLists: Bool = false) -> Set<UserName> {
        state.withLock { state in
            for (source, users) in state.held { state.confirmed[source, default: []].formUnion(users) }
            state.confirmsLists = includesLists
            defer { state.held = [:] }
            return state.held.values.reduce(into: []) { $0.formUnion($1) }
        }
    }

    /// Ends the word about the lists, which have been compared.
    public func listsAreApplied() { state.withLock { $0.confirmsLists = false } }

    /// Removes what waits, and what was confirmed, of all other sources.
    public func keep(where isKept: (Source) -> Bool) {
        state.withLock { state in
            state.held = state.held.filter { isKept($0.key) }
            state.confirmed = state.confirmed.filter { isKept($0.key) }
        }
    }

    /// Returns whether an operator has confirmed the end of an account that the recheck found.
    public func isConfirmed(_ user: UserName, by authenticator: PluginName) -> Bool {
        state.withLock { $0.confirmed[.recheck(authenticator)]?.contains(user) ?? false }
    }

    /// Returns whether the end of an account of a list waits.
    public func isHeld(_ user: UserName, by authenticator: PluginName) -> Bool {
        state.withLock { $0.held[.lists(authenticator)]?.contains(user) ?? false }
    }

    /// The users whose ends wait, by name, each with the authenticator that lacks them.
    public var waiting: [(user: UserName, authenticator: PluginName)] {
        let held = state.withLock(\.held)
        return held.flatMap { source, users in users.map { ($0, source.authenticator) } }
            .sorted { ($0.0, $0.1.text) < ($1.0, $1.1.text) }
    }
}
