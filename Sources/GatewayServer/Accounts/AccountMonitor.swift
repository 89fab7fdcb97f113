internal import GatewayCore
internal import GatewayStore
internal import Logging

/// Sees which accounts have ended or have another password since they were looked at last, be it before a restart.
actor AccountMonitor {
    /// What is known of the lists of one kind of authenticator: their accounts count together.
    private struct Watched {
        let name: PluginName
        let lists: [any AccountList]
        var reconciled: [UserName: AccountFingerprint]?
        var holdsUntil: WallTime?
        var isDue = true
        var complaint: String?
    }

    private var watched: [Watched]
    private let sessions: SessionRegister
    private let revocation: UserRevocation
    private let clocks: Clocks
    private let logger: Logger

    init(
        _ lists: [(name: PluginName, list: any AccountList)], sessions: SessionRegister, revocation: UserRevocation,
        clocks: Clocks, logger: Logger
    ) {
        watched = Self.watched(lists)
        self.sessions = sessions
        self.revocation = revocation
        self.clocks = clocks
        self.logger = logger
    }

    /// Watches these lists from now on. What was settled of a kind that stays is gone on from.
    func watch(_ lists: [(name: PluginName, list: any AccountList)]) {
        let reconciled = Dictionary(watched.map { ($0.name, $0.reconciled) }) { first, _ in first }
        sessions.keepGroupLists(of: Set(lists.map(\.name)))
        watched = Self.watched(lists)
        for index in watched.indices { watched[index].reconciled = reconciled[watched[index].name] ?? nil }
    }

    private static func watched(_ lists: [(name: PluginName, list: any AccountList)]) -> [Watched] {
        Dictionary(grouping: lists, by: \.name).sorted { $0.key.text < $1.key.text }.map { name, lists in
            Watched(name: name, lists: lists.map(\.list))
        }
    }

    /// The lists have been read again: the next look goes through all of them.
    func listsHaveChanged() {
        for index in watched.indices { watched[index].isDue = true }
    }

    /// Looks at those that have changed, whose time has come, or that could not be settled before.
    func look() async {
        let now = clocks.wall()
        for index in watched.indices {
            guard watched[index].isDue || watched[index].holdsUntil.map({ $0 <= now }) == true else { continue }
            await reconcile(index, at: now)
        }
    }

    private func reconcile(_ index: Int, at now: WallTime) async {
        let name = watched[index].name
        watched[index].isDue = false
        let snapshots = watched[index].lists.map { $0.accounts(at: now) }
        // Of two lists with one name the earlier decides on a login.
        let marks = snapshots.reduce(into: [UserName: AccountFingerprint]()) {
            $0.merge($1.marks) { first, _ in first }
        }
        let named = snapshots.reduce(into: [UserName: Set<GroupName>]()) { $0.merge($1.groups) { first, _ in first } }
        // Who is listed without groups is in none, which is more than not knowing.
        let groups = Dictionary(uniqueKeysWithValues: marks.keys.map { ($0, named[$0] ?? []) })
        // In memory, and so before anything that can fail.
        let fewerGroups = revocation.replaceGroups(groups, of: name)
        do throws(LedgerUnavailable) {
            let before: [UserName: AccountFingerprint]
            if let reconciled = watched[index].reconciled {
                before = reconciled
            } else {
                before = try await sessions.accounts(of: name)
            }
            let changes = AccountChanges(from: before, to: marks)
            if !changes.isEmpty { try await revocation.reconcile(changes, of: name) }
            watched[index].reconciled = marks
            watched[index].holdsUntil = snapshots.compactMap(\.holdsUntil).min()
            watched[index].complaint = nil
        } catch {
            watched[index].isDue = true
            if watched[index].complaint != error.detail {
                logger.error("Account changes could not be applied", metadata: ["detail": "\(error.detail)"])
            }
            watched[index].complaint = error.detail
        }
        await revocation.recordLostGroups(of: fewerGroups, name)
    }
}
