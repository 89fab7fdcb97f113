internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging

/// The recheck of gateways that share a store.
extension AccountRecheck {
    /// Returns whether this gateway ends grants: true for a gateway with a store of its own.
    func hasTask() async -> Bool {
        guard let sharing else { return true }
        do throws(LedgerUnavailable) {
            return try await sharing.acquire(.accountRecheck)
        } catch {
            logger.error("Accounts could not be rechecked", metadata: ["detail": "\(error.detail)"])
            return false
        }
    }

    /// Returns whether all gateways have the same account lists: true for a gateway with a store of its own.
    func hasAgreement() async -> Bool {
        guard let sharing else { return true }
        do throws(LedgerUnavailable) {
            return try await sharing.isReached()
        } catch {
            logger.error("Accounts could not be rechecked", metadata: ["detail": "\(error.detail)"])
            return false
        }
    }

    /// Updates the memory of this gateway: the groups of the accounts that have a session, and expired sessions. Ends
    /// nothing.
    func updateGroups() async {
        let chain = chain.value
        let withSession = Set(sessions.allSessions.map(\.account))
        _ = await queryStatus(withSession.filter { chain.requiresRecheck($0.authenticator) }, chain)
        guard !Task.isCancelled else { return }
        sessions.keepRecordedGroups(of: withSession.union(await registeringAccounts(chain)))
        await removeExpired()
    }
}
