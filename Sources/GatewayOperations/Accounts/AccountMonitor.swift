package import Gateway
package import GatewayConfiguration
package import GatewayCore
package import GatewayStore
package import GatewaySupport
package import Logging

/// Detects accounts that have ended or changed their password since the previous comparison, which may predate a
/// restart. It reads account lists, such as users files.
///
/// Very many accounts that end at once wait for an operator (``MassEnds``).
///
/// With a store that several gateways share, the changes are applied when the gateways agree on their lists. Logins and
/// groups follow the lists of this gateway at once.
package actor AccountMonitor {
    /// The state of all lists of one kind of authenticator. Their accounts are compared together.
    struct Watched {
        let name: PluginName
        /// In the order of the configuration.
        let lists: [ScopedAccountList]
        /// The accounts when the lists were read last; nil before that.
        var listed: [UserName: AccountFingerprint]?
        /// The accounts whose changes have been applied; nil if only the ledger knows them.
        var reconciled: [UserName: AccountFingerprint]?
        var validUntil: WallTime?
        /// Whether the lists say that they have no accounts, on purpose.
        var isDeclaredEmpty = false
        /// The accounts that are in the lists and closed, on purpose.
        var closed: Set<UserName> = []
        /// The groups of the listed accounts, and of those whose end waits.
        var groups: [UserName: Set<GroupName>] = [:]
        /// The accounts whose end waits for an operator.
        var held: Set<UserName> = []
        /// Whether the lists have to be read.
        var isDue = true
        var lastError: String?
    }

    var watched: [Watched]
    /// The names of all authenticators of the configuration.
    private(set) var authenticators: Set<PluginName>
    let sessions: SessionRegister
    let revocation: UserRevocation
    let massEnds: MassEnds
    let clocks: Clocks
    let logger: Logger
    /// The agreement with the other gateways; nil for a gateway with a store of its own.
    let agreement: (any AccountAgreement)?
    var sharing = SharedLists()

    package init(
        _ lists: [ScopedAccountList], among authenticators: Set<PluginName> = [], revocation: UserRevocation,
        agreement: (any AccountAgreement)? = nil,
        massEnds: MassEnds = MassEnds(), clocks: Clocks, logger: Logger
    ) {
        watched = Self.watched(lists)
        self.authenticators = authenticators
        sessions = revocation.sessions
        self.revocation = revocation
        self.agreement = agreement
        self.massEnds = massEnds
        self.clocks = clocks
        self.logger = logger
    }

    /// Replaces the watched lists. The completed state of a kind that remains is kept.
    ///
    /// - Parameter authenticators: The names of all authenticators of the configuration.
    package func watch(_ lists: [ScopedAccountList], among authenticators: Set<PluginName> = []) {
        self.authenticators = authenticators
        let before = Dictionary(watched.map { ($0.name, $0) }) { first, _ in first }
        sessions.keepGroupLists(of: Set(lists.map(\.name)))
        let names = Set(lists.map(\.name))
        massEnds.keep { if case .lists(let name) = $0 { names.contains(name) } else { true } }
        watched = Self.watched(lists)
        for index in watched.indices {
            watched[index].reconciled = before[watched[index].name]?.reconciled
            watched[index].listed = before[watched[index].name]?.listed
            watched[index].held = before[watched[index].name]?.held ?? []
            watched[index].groups = before[watched[index].name]?.groups ?? [:]
        }
        sharing.isPending = true
        sharing.nextAttempt = nil
    }

    private static func watched(_ lists: [ScopedAccountList]) -> [Watched] {
        Dictionary(grouping: lists, by: \.name).sorted { $0.key.text < $1.key.text }.map { name, lists in
            Watched(name: name, lists: lists)
        }
    }

    /// Marks every list for comparison at the next `compare()`. Called after the lists were read again.
    package func listsHaveChanged() {
        for index in watched.indices { watched[index].isDue = true }
    }

    /// Tries at the next `compare()` to apply changes that waited. Called when an operator has decided about the lists.
    package func retry() {
        listsHaveChanged()
        sharing.isPending = true
        sharing.nextAttempt = nil
    }

    /// Compares the lists that have changed, whose next change of status by time is due, or whose last comparison
    /// failed. One call at a time.
    package func compare() async {
        let now = clocks.wall()
        let due = watched.indices.filter { index in
            watched[index].isDue || watched[index].validUntil.map { $0 <= now } == true
        }
        if let agreement { return await compareShared(due, at: now, agreement) }
        for index in due {
            let fewerGroups = read(index, at: now)
            await apply(index, since: watched[index].reconciled)
            await revocation.recordLostGroups(of: fewerGroups, watched[index].name)
        }
    }

    /// Reads the lists. Changes the groups in memory, and nothing else.
    ///
    /// - Returns: The users that have lost a group.
    func read(_ index: Int, at now: WallTime) -> Set<UserName> {
        watched[index].isDue = false
        let accounts = AccountSnapshot.merging(watched[index].lists.map { $0.accounts(at: now) })
        watched[index].listed = accounts.fingerprints
        watched[index].validUntil = accounts.validUntil
        watched[index].isDeclaredEmpty = accounts.isDeclaredEmpty
        watched[index].closed = accounts.closed
        // A listed account without groups is in none, which differs from an account whose groups are unknown.
        let groups = Dictionary(
            uniqueKeysWithValues: accounts.fingerprints.keys.map { ($0, accounts.groups[$0] ?? []) })
        // Those who are missing keep their groups until it is decided whether they have ended.
        let former = watched[index].groups.filter { !accounts.closed.contains($0.key) }
        watched[index].groups = groups.merging(former) { listed, _ in listed }
        return revocation.replaceGroups(watched[index].groups, of: watched[index].name)
    }

    /// Removes the groups of those whose account has ended.
    private func removeGroups(_ index: Int, keepingThoseOf accounts: [UserName: AccountFingerprint]) {
        let groups = watched[index].groups.filter { accounts[$0.key] != nil }
        guard groups.count < watched[index].groups.count else { return }
        watched[index].groups = groups
        _ = revocation.replaceGroups(groups, of: watched[index].name)
    }

    /// Applies the changes since the given accounts, or since those in the ledger. After a failure, the lists are due.
    func apply(_ index: Int, since known: [UserName: AccountFingerprint]?) async {
        let (name, listed) = (watched[index].name, watched[index].listed ?? [:])
        do throws(LedgerUnavailable) {
            let before: [UserName: AccountFingerprint]
            if let known { before = known } else { before = try await sessions.accounts(of: name) }
            let admitted = admitted(listed, index, since: before)
            let changes = AccountChanges(from: before, to: admitted)
            if !changes.isEmpty { try await revocation.reconcile(changes, of: name) }
            watched[index].reconciled = admitted
            removeGroups(index, keepingThoseOf: admitted)
            watched[index].lastError = nil
        } catch {
            watched[index].isDue = true
            if watched[index].lastError != error.detail {
                logger.error("Account changes could not be applied", metadata: ["detail": "\(error.detail)"])
            }
            watched[index].lastError = error.detail
        }
    }

    /// Returns the accounts that apply now: the listed ones, and those whose end waits for an operator as they were before.
    private func admitted(
        _ listed: [UserName: AccountFingerprint], _ index: Int, since before: [UserName: AccountFingerprint]
    ) -> [UserName: AccountFingerprint] {
        let missing = AccountChanges(from: before, to: listed).removed.subtracting(watched[index].closed)
        let ending = watched[index].isDeclaredEmpty ? [] : missing
        let admitted = massEnds.admit(
            ending, besides: Set(listed.keys), of: before.count, from: .lists(watched[index].name))
        let held = ending.subtracting(admitted)
        if !held.isEmpty, watched[index].held != held {
            logger.tooManyEnded(held, of: before.count, by: watched[index].name)
        }
        watched[index].held = held
        return listed.merging(before.filter { held.contains($0.key) }) { listed, _ in listed }
    }
}

extension Logger {
    /// Logs that ends wait for an operator.
    func tooManyEnded(_ users: Set<UserName>, of count: Int, by authenticator: PluginName) {
        let some = users.sorted().prefix(20).map(\.text).joined(separator: " ")
        error(
            "Too many accounts ended at once; nothing revoked, check the user directory or run accounts apply",
            metadata: [
                "ended": "\(users.count)", "of": "\(count)", "authenticator": "\(authenticator)",
                "among-them": "\(some)",
            ])
    }
}
