internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging

/// Expiry of sessions and registrations whose authenticator reports an account's status only at a login, or is no longer
/// configured.
extension AccountRecheck {
    /// Ends the sessions of such accounts whose login is older than the configured limit, and marks for deletion the
    /// registrations that were not renewed within the limit.
    ///
    /// The ages are computed from the time that the wall clock and the monotonic clock agree on, so a wall clock that
    /// jumps forward deletes nothing.
    func expireOldGrants() async {
        let (chain, rules) = (chain.value, authentication.value)
        let authenticators = chain.authenticatorsWithoutStatus.union(await unconfiguredAuthenticators(chain))
        if authenticators.isEmpty { return }
        let now = sessions.confirmedTime.seconds
        let oldest = WallTime(seconds: now - rules.sessionLifetimeWithoutStatus.components.seconds)
        let old = sessions.allSessions.filter { authenticators.contains($0.authenticator) && $0.began <= oldest }
        do throws(LedgerUnavailable) {
            if !old.isEmpty {
                try await revocation.delete(old, because: .loginTooOld)
                logger.notice("Sessions expired: login too old", metadata: ["sessions": "\(old.count)"])
            }
            let count = try await sessions.markRegistrationsForDeletion(
                of: authenticators,
                notSeenSince: WallTime(seconds: now - rules.deviceLifetimeWithoutStatus.components.seconds))
            guard count > 0 else { return }
            logger.notice(
                "Registrations expired: login too old", metadata: ["registrations": "\(count)"])
            revocation.sweeper.wake()
        } catch {
            logger.error(
                "Expired sessions and registrations could not be removed", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Returns the authenticators of registrations that are no longer configured. Nobody reports the status of their
    /// accounts. Another gateway may have them.
    private func unconfiguredAuthenticators(_ chain: AuthenticatorChain) async -> Set<PluginName> {
        do throws(LedgerUnavailable) {
            let all = Set(try await sessions.registrationCounts().keys).filter { !chain.contains($0) }
            if all.isEmpty { return [] }
            return await hasAgreement() ? all : []
        } catch {
            logger.error("Registered accounts could not be listed", metadata: ["detail": "\(error.detail)"])
            return []
        }
    }
}
