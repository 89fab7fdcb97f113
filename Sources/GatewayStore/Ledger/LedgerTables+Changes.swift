internal import GatewayCore
internal import GatewaySupport

/// A claim's request and decision, with the data that its change is checked against.
struct LedgerTask: Sendable {
    let request: LedgerRequest
    let decision: LedgerDecision
    /// The key of the request's handle.
    let handle: HandleKey?
    /// The key of the handle that the change names.
    let changeHandle: HandleKey?
    let now: WallTime
    let limits: StoredLedger.Limits
    /// Returns whether the caller's credential was revoked.
    var isRevoked: @Sendable () -> Bool = { false }
    /// The upstream at which the request's registration is made.
    var upstream: UpstreamName?
    /// Whether a sweep deletes the registration while a call of a revoked user holds it.
    var precedesCall = false
}

extension LedgerTables {
    /// Writes a change within the caller's transaction.
    ///
    /// Throws if the change does not fit the claim, or would take a registration from a handle outside the claim.
    ///
    /// - Returns: The result of `RegistrationLedger.finish`.
    func apply(_ change: LedgerChange, to task: LedgerTask) throws -> Bool {
        switch (change, task.request) {
        case (.reserved(let id, _), .create(let user, _)):
            try reserve(id, for: user, task)
            return try keepUnlessRevoked(id, task)
        case (.registered(let id, let replaced), .update(let user, let label, _, let account)):
            try register(id, replacing: replaced, for: user, by: account, label: label, task)
            return try keepUnlessRevoked(id, task)
        case (.unresolved(let id), .update):
            try storeUnknownOutcome(id, for: task)
            return try keepUnlessRevoked(id, task)
        case (.undone(let attempt), .update):
            try undo(attempt, for: task)
            return true
        case (.deleted(let id), .delete) where task.decision == .owned(id),
            (.deleted(let id), .sweep) where task.decision.allowsSweep(of: id):
            return try delete(id, task)
        case (.deleting(let id), .delete) where task.decision == .owned(id),
            (.deleting(let id), .sweep) where task.decision.allowsSweep(of: id):
            try mark(id, task)
            return false
        case (.deletionUnanswered(let id), .delete) where task.decision == .owned(id),
            (.deletionUnanswered(let id), .sweep) where task.decision.allowsSweep(of: id):
            try mark(id, task)
            try recordUnansweredDeletion(id, now: task.now)
            return false
        case (.unconfirmed(let id), .delete) where task.decision == .owned(id),
            (.unconfirmed(let id), .sweep) where task.decision.allowsSweep(of: id):
            try mark(id, task)
            guard try recordUnconfirmedDeletion(id, now: task.now) else { return false }
            return try delete(id, task)
        case (.reserved, _), (.registered, _), (.unresolved, _), (.undone, _), (.deleted, _), (.deleting, _),
            (.deletionUnanswered, _), (.unconfirmed, _):
            throw LedgerUnavailable("the change does not fit the claim")
        }
    }

    /// Marks the registration for deletion if the caller has been revoked since the claim. Runs inside the transaction:
    /// a later revocation has its own transaction after this one and finds the registration.
    ///
    /// - Returns: Whether the registration is kept.
    private func keepUnlessRevoked(_ id: RegistrationID, _ task: LedgerTask) throws -> Bool {
        guard try isRevoked(task) else { return true }
        try markForDeletion(id, because: .revoked)
        return false
    }

    /// Returns whether the caller has been revoked. Every change that binds a registration asks this inside its
    /// transaction.
    func isRevoked(_ task: LedgerTask) throws -> Bool { task.isRevoked() }

    /// Removes a registration that the backend has deleted, unless a running call or a late update may create it again.
    private func delete(_ id: RegistrationID, _ task: LedgerTask) throws -> Bool {
        if task.precedesCall { return false }
        // The backend gave the id of an orphan to another device, which has registered during the sweep.
        if case .sweep = task.request, try registration(id)?.state == .live { return true }
        if try hasPendingUpdate(id, now: task.now) {
            try mark(id, task)
            return false
        }
        try remove(id)
        try removeOrphan(id)
        return true
    }

    private func mark(_ id: RegistrationID, _ task: LedgerTask) throws {
        // An orphan has no row here and stays marked in its own table. A registration that another call holds is
        // already marked.
        guard !task.precedesCall, var row = try registration(id), row.isBound else { return }
        row.state = .deleting
        row.reason = row.reason ?? .givenUp
        try store(row)
    }

    private func reserve(_ id: RegistrationID, for user: UserName, _ task: LedgerTask) throws {
        guard task.changeHandle == nil || task.changeHandle == task.handle else {
            throw LedgerUnavailable("the change names a handle other than the claim's")
        }
        // The id was requested without a handle, so it does not belong to the handle that the device named.
        let handle = task.decision == .queryWithHandle ? task.changeHandle : nil
        let now = task.now
        let existing = try registration(id)
        // An import may have bound the handle to another user since the claim. Imports do not wait for calls.
        if let handle, let bound = try registration(boundTo: handle), bound.owner == user {
            if bound.id == id { return try updateLastSeen(bound, now) }
            if let existing, existing.isBound { throw Self.heldElsewhere }
            try supersede(bound, by: id, task)
            try store(
                Registration(
                    id: id, owner: user, account: bound.account, handle: handle, state: bound.state,
                    created: bound.created, lastSeen: now, reason: bound.reason,
                    importUnconfirmed: bound.importUnconfirmed, upstream: task.upstream))
            return try limitLabels(task.limits.labels, of: user)
        }
        if let existing, existing.isBound {
            // The backend returned an id that it has returned before. The id keeps its owner.
            return existing.owner == user ? try updateLastSeen(existing, now) : ()
        }
        let created = existing.flatMap { $0.owner == user ? $0.created : nil } ?? now
        try store(
            Registration(
                id: id, owner: user, handle: handle, state: .reserved, created: created, lastSeen: now,
                upstream: task.upstream))
        try limitReservations(task.limits.reservations, of: user)
    }

    private func register(
        _ id: RegistrationID, replacing replaced: RegistrationID?, for user: UserName, by account: Account?,
        label: RegistrationID, _ task: LedgerTask
    ) throws {
        guard let handle = task.handle, task.decision.allowsUpdate else {
            throw LedgerUnavailable("the change does not fit the claim")
        }
        let stood = task.decision.updated
        if label == id, replaced == nil || replaced == id,
            try refreshLastSeen(id, of: user, by: account, handle, at: task.upstream, task.now)
        {
            return try limitRegistrations(task.limits.registrations, of: user)
        }
        let existing = try registration(id)
        if let existing, existing.isBound, existing.handle != handle, stood != id { throw Self.heldElsewhere }
        var created = existing?.isBound == true ? existing?.created : nil
        for lost in Set([replaced, try registration(boundTo: handle)?.id]) {
            guard let lost, lost != id, let row = try registration(lost) else { continue }
            guard lost == stood || row.handle == handle || !row.isBound else { throw Self.replacesForeign }
            created = created ?? row.created
            try supersede(row, by: id, task)
        }
        if label != id {
            // The label was reserved and is now another registration, so the reservation is obsolete.
            if let used = try registration(label), used.owner == user, !used.isBound { try remove(label) }
            try storeLabel(label, of: user, as: id, now: task.now)
        }
        try store(
            Registration(
                id: id, owner: user, account: account, handle: handle, state: .live, created: created ?? task.now,
                lastSeen: task.now, upstream: task.upstream))
        if existing?.isInDoubt == true { try removeAttempts(on: id, by: user, now: task.now) }
        try limitLabels(task.limits.labels, of: user)
        try limitRegistrations(task.limits.registrations, of: user)
        if case .ownershipTransfer(_, let former) = task.decision {
            try recordOwnershipTransfer(
                of: handle, from: former, to: user, now: task.now,
                forgetting: task.now.adding(-StoredLedger.ownershipTransferPeriod))
        }
    }

    /// Replaces a registration by another of the same device. What may still exist is deleted: at another upstream, because
    /// the device may change its owner here and that upstream would not learn of it; one with the token that the device
    /// had before, because a look-up of the present token does not show whether the backend has really lost it; and one
    /// whose deletion was not answered.
    func supersede(_ row: Registration, by id: RegistrationID, _ task: LedgerTask) throws {
        try remove(row, replacedBy: id, now: task.now)
        guard
            row.isBound,
            row.place.isElsewhere(than: task.upstream) || task.decision == .rotation(row.id) || row.mayBeDeletedLate
        else { return }
        try storeOrphan(
            OrphanRegistration(
                id: row.id, handle: row.handle, reason: row.reason ?? .superseded, owner: row.owner,
                upstream: row.upstream))
        if row.mayBeDeletedLate { try recordUnansweredDeletion(row.id, now: task.now) }
    }

    /// Marks for deletion what the backend has under an id for the handle of an update, beside the handle's own
    /// registration.
    func supersede(unknown id: RegistrationID, _ task: LedgerTask) throws {
        // The backend has this registration for the handle, so the device that the ledger has it for is not registered.
        if let row = try registration(id), row.isBound {
            try markForDeletion(id, because: .superseded)
        } else {
            let isLate = try mayBeDeletedLate(id)
            try storeOrphan(
                OrphanRegistration(id: id, handle: task.handle, reason: .superseded, upstream: task.upstream))
            if isLate { try recordUnansweredDeletion(id, now: task.now) }
        }
    }

    static var heldElsewhere: LedgerUnavailable {
        LedgerUnavailable("the backend returned an id that belongs to another device")
    }

    static var replacesForeign: LedgerUnavailable {
        LedgerUnavailable("the change replaces a registration outside the claim")
    }
}

extension LedgerDecision {
    /// Whether the decision allows a device to be registered.
    var allowsUpdate: Bool {
        switch self {
        case .own, .rotation, .ownershipTransfer, .notRegistered: true
        case .queryWithHandle, .queryWithoutHandle, .tooManyOwnershipTransfers, .owned, .notOwned, .pendingDeletion,
            .notMarked:
            false
        }
    }

    /// Returns whether the decision allows the registration to be swept.
    fileprivate func allowsSweep(of id: RegistrationID) -> Bool {
        if case .pendingDeletion(id, _, _) = self { true } else { false }
    }
}
