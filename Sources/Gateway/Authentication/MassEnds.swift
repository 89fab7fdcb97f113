public import GatewayCore
internal import Synchronization

/// The ends of many accounts at once, which wait for the word of an operator.
///
/// A users file or a directory that has lost its entries looks like one from which they were removed. What ends with an
/// account cannot be undone: its devices are deleted at the backend. So if more than ten users, and more than a tenth of
/// all, end at once, they keep everything until an operator says that they have ended (`accounts apply`). Safe on any
/// thread.
public final class MassEnds: Sendable {
    /// The source that reports the ends.
    public enum Source: Sendable, Hashable {
        /// The account lists of an authenticator.
        case lists(PluginName)
        /// The recheck of the accounts that are in no list.
        case recheck
    }

    private struct State {
        var held: [Source: Set<UserName>] = [:]
        var confirmed: [Source: Set<UserName>] = [:]

        /// The users whose ends wait.
        var users: Set<UserName> { held.values.reduce(into: []) { $0.formUnion($1) } }
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
    ///   - ended: All users of the source whose accounts have ended.
    ///   - count: The number of all users of the source.
    public func admit(_ ended: Set<UserName>, of count: Int, from source: Source) -> Set<UserName> {
        state.withLock { state in
            // A user who is back needs another word to end again.
            let confirmed = state.confirmed[source, default: []].intersection(ended)
            state.confirmed[source] = confirmed.isEmpty ? nil : confirmed
            let others = ended.subtracting(confirmed)
            if others.count <= max(Self.maximumUsers, count / 10) {
                state.held[source] = nil
                return ended
            }
            state.held[source] = others
            return confirmed
        }
    }

    /// Confirms the ends that wait, by the word of an operator. Returns their users.
    public func confirm() -> Set<UserName> {
        state.withLock { state in
            for (source, users) in state.held { state.confirmed[source, default: []].formUnion(users) }
            defer { state.held = [:] }
            return state.users
        }
    }

    /// Removes what waits of the lists of all authenticators but these.
    public func keep(listsOf authenticators: Set<PluginName>) {
        state.withLock { state in
            func isKept(_ source: Source) -> Bool {
                switch source {
                case .lists(let name): authenticators.contains(name)
                case .recheck: true
                }
            }
            state.held = state.held.filter { isKept($0.key) }
            state.confirmed = state.confirmed.filter { isKept($0.key) }
        }
    }

    /// Returns whether an operator has confirmed the end of an account that the recheck found.
    public func isConfirmed(_ user: UserName) -> Bool {
        state.withLock { $0.confirmed[.recheck]?.contains(user) ?? false }
    }

    /// Returns whether the end of an account of a list waits.
    public func isHeld(_ user: UserName, by authenticator: PluginName) -> Bool {
        state.withLock { $0.held[.lists(authenticator)]?.contains(user) ?? false }
    }

    /// The users whose ends wait.
    public var users: Set<UserName> { state.withLock(\.users) }
}
