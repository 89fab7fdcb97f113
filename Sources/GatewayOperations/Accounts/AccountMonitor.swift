package import GatewayConfiguration
internal import GatewayCore
package import GatewayStore
package import GatewaySupport
package import Logging

/// Detects accounts that have ended or changed their password since the previous comparison, which may predate a
/// restart. It reads account lists, such as users files.
package actor AccountMonitor {
    /// The state of all lists of one kind of authenticator. Their accounts are compared together.
    private struct Watched {
        let name: PluginName
        /// In the order of the configuration.
        let lists: [ScopedAccountList]
        var reconciled: [UserName: AccountFingerprint]?
        var validUntil: WallTime?
        var isDue = true
        var lastError: String?
    }

    private var watched: [Watched]
    private let sessions: SessionRegister
    private let revocation: UserRevocation
    private let clocks: Clocks
    private let logger: Logger

    package init(
        _ lists: [ScopedAccountList], sessions: SessionRegister, revocation: UserRevocation,
        clocks: Clocks, logger: Logger
    ) {
        watched = Self.watched(lists)
        self.sessions = sessions
        self.revocation = revocation
        self.clocks = clocks
        self.logger = logger
    }

    /// Replaces the watched lists. The completed state of a kind that remains is kept.
    package func watch(_ lists: [ScopedAccountList]) {
        let reconciled = Dictionary(watched.map { ($0.name, $0.reconciled) }) { first, _ in first }
        sessions.keepGroupLists(of: Set(lists.map(\.name)))
        watched = Self.watched(lists)
        for index in watched.indices { watched[index].reconciled = reconciled[watched[index].name] ?? nil }
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

    /// Compares the lists that have changed, whose next change of status by time is due, or whose last comparison
    /// failed.
    package func compare() async {
        let now = clocks.wall()
        for index in watched.indices {
            guard watched[index].isDue || watched[index].validUntil.map({ $0 <= now }) == true else { continue }
            await reconcile(index, at: now)
        }
    }

    private func reconcile(_ index: Int, at now: WallTime) async {
        let name = watched[index].name
        watched[index].isDue = false
        let accounts = AccountSnapshot.merging(watched[index].lists.map { $0.accounts(at: now) })
        let fingerprints = accounts.fingerprints
        // A listed account without groups is in none, which differs from an account whose groups are unknown.
        let groups = Dictionary(uniqueKeysWithValues: fingerprints.keys.map { ($0, accounts.groups[$0] ?? []) })
        // This changes memory only, so it comes before the steps that can fail.
        let fewerGroups = revocation.replaceGroups(groups, of: name)
        do throws(LedgerUnavailable) {
            let before: [UserName: AccountFingerprint]
            if let reconciled = watched[index].reconciled {
                before = reconciled
            } else {
                before = try await sessions.accounts(of: name)
            }
            let changes = AccountChanges(from: before, to: fingerprints)
            if !changes.isEmpty { try await revocation.reconcile(changes, of: name) }
            watched[index].reconciled = fingerprints
            watched[index].validUntil = accounts.validUntil
            watched[index].lastError = nil
        } catch {
            watched[index].isDue = true
            if watched[index].lastError != error.detail {
                logger.error("Account changes could not be applied", metadata: ["detail": "\(error.detail)"])
            }
            watched[index].lastError = error.detail
        }
        await revocation.recordLostGroups(of: fewerGroups, name)
    }
}
