internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging

/// The state of account lists with a store that several gateways share.
struct SharedLists {
    /// Whether the lists of this gateway have to be published, or differ from those that were applied.
    var isPending = true
    /// Whether this gateway has the right to write changes, and has not given it up.
    var hasRight = false
    /// The time before which an attempt is not repeated, on the monotonic clock in nanoseconds.
    var nextAttempt: Int64?
    /// The last decision or failure that was logged.
    var logged: String?

    /// The time between two attempts in nanoseconds: 3 seconds.
    static let period: Int64 = 3_000_000_000
}

extension AccountMonitor {
    /// Compares lists whose changes need the agreement of the other gateways.
    ///
    /// The cached passwords of this gateway go at once; everything that the gateways share changes later.
    func compareShared(_ due: [Int], at now: WallTime, _ agreement: any AccountAgreement) async {
        for index in due {
            let before = watched[index].listed
            let fewerGroups = read(index, at: now)
            let listed = watched[index].listed ?? [:]
            if before != listed {
                revocation.removeCachedPasswords(of: AccountChanges(from: before ?? [:], to: listed))
                sharing.isPending = true
                sharing.nextAttempt = nil
            }
            await revocation.recordLostGroups(of: fewerGroups, watched[index].name)
        }
        let time = clocks.monotonic().nanoseconds
        guard sharing.isPending || sharing.hasRight, sharing.nextAttempt.map({ $0 <= time }) ?? true else { return }
        sharing.nextAttempt = time + SharedLists.period
        do throws(LedgerUnavailable) {
            if sharing.isPending { try await propose(to: agreement) }
            if sharing.hasRight {
                try await agreement.complete()
                sharing.hasRight = false
            }
        } catch {
            log("failed: \(error.detail)") {
                logger.error("Account changes could not be applied", metadata: ["detail": "\(error.detail)"])
            }
        }
    }

    private func propose(to agreement: any AccountAgreement) async throws(LedgerUnavailable) {
        // A gateway with other authenticators would end the accounts of those.
        let lists = Dictionary(uniqueKeysWithValues: watched.map { ($0.name, $0.listed ?? [:]) })
            .merging(authenticators.map { ($0, [:]) }) { listed, _ in listed }
        guard let digest = AccountListsDigest(of: lists) else {
            throw LedgerUnavailable("libcrypto cannot compute a digest")
        }
        switch try await agreement.propose(digest) {
        case .apply:
            sharing.hasRight = true
            if sharing.logged != nil { logger.notice("The account lists of this gateway apply now") }
            sharing.logged = nil
            await applyShared()
        case .wait: break
        case .differ(let hosts):
            massEnds.listsAreApplied()
            log("differ: \(hosts)") {
                logger.warning(
                    "The account lists of the gateways differ; nothing is revoked until they agree",
                    metadata: ["hosts": "\(hosts.joined(separator: " "))"])
            }
        case .overruled:
            massEnds.listsAreApplied()
            log("overruled") {
                logger.warning("An operator has applied the account lists of another gateway; nothing is revoked")
            }
        }
    }

    /// Applies the lists of this gateway to the ledger. Another gateway may have done so before.
    private func applyShared() async {
        sharing.isPending = false
        do throws(LedgerUnavailable) {
            try await sessions.keepAccounts(of: Set(watched.map(\.name)))
        } catch {
            sharing.isPending = true
            logger.error(
                "Accounts of removed authenticators could not be revoked", metadata: ["detail": "\(error.detail)"])
        }
        for index in watched.indices {
            let before = watched[index].reconciled ?? [:]
            await apply(index, since: nil)
            // Another gateway may have written the changes, so that none were left for this one.
            revocation.clearCaches(of: AccountChanges(from: before, to: watched[index].reconciled ?? [:]))
            // The word of an operator may come at another gateway, which then writes the changes.
            if watched[index].isDue || !watched[index].held.isEmpty { sharing.isPending = true }
        }
        massEnds.listsAreApplied()
    }

    /// Logs a decision or failure once, until another one follows.
    private func log(_ text: String, _ write: () -> Void) {
        if sharing.logged != text { write() }
        sharing.logged = text
    }
}
