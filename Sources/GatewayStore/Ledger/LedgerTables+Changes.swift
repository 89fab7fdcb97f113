internal import GRDB
internal import GatewayCore

/// What a claim was for, with everything that its change is checked against.
struct LedgerTask: Sendable {
    let request: LedgerRequest
    let decision: LedgerDecision
    /// The request's handle.
    let handle: HandleKey?
    /// The handle that the change names.
    let changeHandle: HandleKey?
    let now: WallTime
    let limits: SQLiteLedger.Limits
}

extension LedgerTables {
    /// Writes a change, inside one transaction of the caller's: all of it or nothing.
    ///
    /// A change that does not fit its claim, or would take a registration from a handle that the claim is not about, is refused.
    func apply(_ change: LedgerChange, to task: LedgerTask) throws {
        switch (change, task.request) {
        case (.reserved(let id, _), .create(let user, _)):
            try reserve(id, for: user, task)
        case (.registered(let id, let replaced), .update(let user, let label, _, let account)):
            try register(id, replacing: replaced, for: user, by: account, label: label, task)
        case (.deleted(let id), .delete) where task.decision == .owned(id),
            (.deleted(let id), .sweep) where task.decision.dooms(id):
            try remove(id)
            try removeStray(id)
        case (.deleting(let id), .delete) where task.decision == .owned(id),
            (.deleting(let id), .sweep) where task.decision.dooms(id):
            // A stray has no row of its own; it stays marked by itself.
            guard var row = try registration(id), row.isBound else { return }
            row.state = .deleting
            row.reason = row.reason ?? .givenUp
            try put(row)
        case (.reserved, _), (.registered, _), (.deleted, _), (.deleting, _):
            throw LedgerUnavailable("the change does not fit the claim")
        }
    }

    private func reserve(_ id: RegistrationID, for user: UserName, _ task: LedgerTask) throws {
        guard task.changeHandle == nil || task.changeHandle == task.handle else {
            throw LedgerUnavailable("the change names another handle than the claim")
        }
        // Asked without a handle, the id has nothing to do with the one that the device named.
        let handle = task.decision == .askWithHandle ? task.changeHandle : nil
        let now = task.now
        let existing = try registration(id)
        if let handle, let bound = try registration(boundTo: handle) {
            if bound.id == id { return try seen(bound, now) }
            if let existing, existing.isBound { throw Self.heldElsewhere }
            try remove(bound, inFavourOf: id, now: now)
            try put(
                Registration(
                    id: id, owner: user, account: bound.account, handle: handle, state: .live, created: bound.created,
                    lastSeen: now))
            return try keepLabels(task.limits.labels, of: user)
        }
        if let existing, existing.isBound {
            // The backend gave out an id that it has given out before: it stays whose it is.
            return existing.owner == user ? try seen(existing, now) : ()
        }
        let created = existing.flatMap { $0.owner == user ? $0.created : nil } ?? now
        try put(Registration(id: id, owner: user, handle: handle, state: .reserved, created: created, lastSeen: now))
        try keepReservations(task.limits.reservations, of: user)
    }

    private func register(
        _ id: RegistrationID, replacing replaced: RegistrationID?, for user: UserName, by account: Account?,
        label: RegistrationID, _ task: LedgerTask
    ) throws {
        guard let handle = task.handle, let stood = task.decision.placeOfUpdate else {
            throw LedgerUnavailable("the change does not fit the claim")
        }
        if label == id, replaced == nil || replaced == id, try seenAgain(id, of: user, by: account, handle, task.now) {
            return try keepRegistrations(task.limits.registrations, of: user)
        }
        let existing = try registration(id)
        if let existing, existing.isBound, existing.handle != handle, stood.id != id { throw Self.heldElsewhere }
        var created = existing?.isBound == true ? existing?.created : nil
        for lost in Set([replaced, try registration(boundTo: handle)?.id]) {
            guard let lost, lost != id, let row = try registration(lost) else { continue }
            guard lost == stood.id || row.handle == handle || !row.isBound else {
                throw LedgerUnavailable("the change replaces what the claim is not about")
            }
            created = created ?? row.created
            try remove(row, inFavourOf: id, now: task.now)
        }
        if label != id {
            // What the label was reserved for has become another registration; the reservation is of no more use.
            if let used = try registration(label), used.owner == user, !used.isBound { try remove(label) }
            try remember(label, of: user, as: id, now: task.now)
        }
        try put(
            Registration(
                id: id, owner: user, account: account, handle: handle, state: .live, created: created ?? task.now,
                lastSeen: task.now))
        try keepLabels(task.limits.labels, of: user)
        try keepRegistrations(task.limits.registrations, of: user)
        if stood.changesHands {
            try countHandOver(
                of: handle, now: task.now, forgetting: task.now.adding(-SQLiteLedger.handOverPeriod))
        }
    }

    private static var heldElsewhere: LedgerUnavailable {
        LedgerUnavailable("the backend gave an id that is another device's")
    }
}

extension LedgerDecision {
    /// The registration that a decision on an update found, and whether it is another user's; nil for what allows no update.
    fileprivate var placeOfUpdate: (id: RegistrationID?, changesHands: Bool)? {
        switch self {
        case .own(let id), .rotation(let id): (id, false)
        case .handOver(let id, _): (id, true)
        case .unplaced: (nil, false)
        case .askWithHandle, .askWithoutHandle, .tooManyHandOvers, .owned, .notOwned, .doomed, .spared: nil
        }
    }

    /// Whether it lets the registration be swept.
    fileprivate func dooms(_ id: RegistrationID) -> Bool {
        if case .doomed(id, _, _) = self { true } else { false }
    }
}
