internal import GatewayCore
internal import GatewaySupport

/// The result of looking up a request in the ledger: the decision, and the locks needed to carry it out.
struct LedgerLookup: Sendable, Hashable {
    let decision: LedgerDecision
    /// The registration that the change would affect.
    var registration: RegistrationID?
    /// Whether the change could bind or move the request's handle. Otherwise the handle is not locked, because any user
    /// could then delay another user's device by naming its handle.
    var touchesHandle = false
    /// Whether the caller already owns the registration for the request's handle; for an update only if it is not marked
    /// for deletion and no update of it has an unknown outcome.
    var isRegistered = false
    /// Whether the registration has everything that the request states, so that confirming it changes only the time at
    /// which it was last seen.
    var isRenewal = false
    /// The place of the registration that the decision names.
    var place: RegistrationPlace?
}

extension LedgerTables {
    /// Returns what the caller may do, and the locks that it needs. The owner of the handle determines the decision.
    /// The label of the request counts only if the handle is unbound, and stands only for registrations of this user.
    func lookUp(
        _ request: LedgerRequest, handle: HandleKey?, at upstream: UpstreamName?, handOverLimit: Int, now: WallTime
    ) throws -> LedgerLookup {
        switch request {
        case .create(let user, _):
            guard let handle else { return LedgerLookup(decision: .queryWithoutHandle) }
            let bound = try registration(boundTo: handle)
            if let bound, bound.owner != user { return LedgerLookup(decision: .queryWithoutHandle) }
            var lookup = LedgerLookup(decision: .queryWithHandle, registration: bound?.id, touchesHandle: true)
            lookup.isRegistered = bound != nil
            if let bound { lookup.isRenewal = try !hasLabel(bound.id, of: user) }
            return lookup
        case .update(let user, let label, _, let account):
            guard let handle else { throw LedgerUnavailable("an update needs a handle") }
            var lookup = try lookUp(
                updateBy: user, account, label: label, handle: handle, handOverLimit: handOverLimit, now: now)
            // A change of the upstream is written.
            if lookup.place?.upstream != upstream { lookup.isRenewal = false }
            return lookup
        case .delete(let user, let label):
            // A reservation does not count as owned. Any user can reserve an id by naming an unbound handle, and the
            // backend may have had a registration with that id before the gateway existed.
            guard let meant = try registration(labelled: label, to: user), meant.owner == user, meant.isBound else {
                return LedgerLookup(decision: .notOwned)
            }
            return LedgerLookup(decision: .owned(meant.id), registration: meant.id, place: meant.place)
        case .sweep(let id):
            guard let row = try registration(id), row.isBound else { return try lookUp(orphan: id) }
            guard row.state == .deleting else { return LedgerLookup(decision: .notMarked) }
            return LedgerLookup(
                decision: .pendingDeletion(id, owner: row.owner, because: row.reason ?? .givenUp), registration: id,
                place: row.place)
        }
    }

    private func lookUp(orphan id: RegistrationID) throws -> LedgerLookup {
        guard let orphan = try orphan(id) else { return LedgerLookup(decision: .notMarked) }
        // The lock on its handle keeps a device from registering under the id again during the deletion.
        return LedgerLookup(
            decision: .pendingDeletion(id, owner: orphan.owner, because: orphan.reason), registration: id,
            touchesHandle: true,
            place: RegistrationPlace(service: orphan.handle?.service, upstream: orphan.upstream))
    }

    private func lookUp(
        updateBy user: UserName, _ account: Account?, label: RegistrationID, handle: HandleKey, handOverLimit: Int,
        now: WallTime
    ) throws -> LedgerLookup {
        func found(_ decision: LedgerDecision, _ row: Registration?) -> LedgerLookup {
            LedgerLookup(decision: decision, registration: row?.id, touchesHandle: true, place: row?.place)
        }
        if let bound = try registration(boundTo: handle) {
            // The device gets another id, and this one is deleted without it.
            if bound.mayBeDeletedLate { return found(.notRegistered, bound) }
            if bound.owner == user {
                var lookup = found(.own(bound.id), bound)
                lookup.isRegistered = bound.isLive && !bound.isInDoubt
                lookup.isRenewal =
                    try lookup.isRegistered && bound.id == label && bound.account == account
                    && bound.importUnconfirmed == nil && !hasLabel(label, of: user)
                return lookup
            }
            let day = now.adding(-StoredLedger.ownershipTransferPeriod)
            guard try mayTakeOver(handle, by: user, limit: handOverLimit, since: day) else {
                return LedgerLookup(decision: .tooManyOwnershipTransfers)
            }
            return found(.ownershipTransfer(bound.id, from: bound.owner), bound)
        }
        guard let meant = try registration(labelled: label, to: user), meant.owner == user else {
            return found(.notRegistered, nil)
        }
        switch meant.state {
        case .live, .unknown: return found(.rotation(meant.id), meant)
        case .reserved where meant.handle == handle: return found(.own(meant.id), meant)
        case .reserved, .deleting: return found(.notRegistered, nil)
        }
    }
}
