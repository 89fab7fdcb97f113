internal import GatewayCore
internal import GatewaySupport

/// Statements on update attempts. An attempt is stored before the gateway sends an update to the backend, and removed
/// once the outcome is known.
extension LedgerTables {
    /// How long after the request the backend may still carry out an update that it has not responded to, in
    /// microseconds: 5 minutes. Retries inside a backend last up to 1 minute.
    static let lateUpdatePeriod: Int64 = 300_000_000

    /// Stores the attempt of the claim's user to register a device under the id, and binds the handle to that id.
    func prepare(
        _ id: RegistrationID, replacing replaced: RegistrationID?, for task: LedgerTask
    ) throws -> RegistrationAttempt {
        guard case .update(let user, _, _, let account) = task.request, let handle = task.handle,
            task.decision.allowsUpdate
        else { throw LedgerUnavailable("the attempt does not fit the claim") }
        let updated = task.decision.updated
        let existing = try registration(id)
        let bound = try registration(boundTo: handle)
        try check(bound, against: task.decision, id, of: user)
        if let existing, existing.isBound, existing.handle != handle, updated != id { throw Self.heldElsewhere }
        let wasReserved = existing.map { !$0.isBound } ?? true
        let wasInDoubt = try existing.map { try hasAttempt($0.id, of: user) } ?? false
        var created: WallTime?
        var replaces = false
        for replacedID in Set([replaced, bound?.id]) {
            guard let replacedID, replacedID != id, let row = try registration(replacedID) else { continue }
            guard replacedID == updated || row.handle == handle || !row.isBound else { throw Self.replacesForeign }
            created = created ?? row.created
            replaces = true
            // An earlier attempt of this call sent this id to the backend, and may have succeeded.
            let isOfThisCall = try replacedID != updated && hasAttempt(replacedID, of: user)
            try supersede(row, by: id, task)
            if isOfThisCall {
                try storeOrphan(
                    OrphanRegistration(
                        id: replacedID, handle: nil, reason: .superseded, owner: user, upstream: row.upstream))
            }
        }
        if wasReserved {
            try store(
                Registration(
                    id: id, owner: user, account: account, handle: handle, state: .live, created: created ?? task.now,
                    lastSeen: task.now, upstream: task.upstream))
        }
        try storeAttempt(on: id, by: user, account, now: task.now)
        let undo: RegistrationAttempt.Undo = replaces || wasInDoubt ? .nothing : wasReserved ? .reserve : .remove
        return RegistrationAttempt(id: id, undo: undo)
    }

    /// Stores that the outcome of the user's update is unknown.
    func storeUnknownOutcome(_ id: RegistrationID, for task: LedgerTask) throws {
        guard case .update(let user, _, _, let account) = task.request else {
            throw LedgerUnavailable("the change does not fit the claim")
        }
        // If the row is missing, the registration was removed in the meantime and nothing needs to be recovered.
        guard try registration(id) != nil else { return }
        try storeAttempt(on: id, by: user, account, now: task.now)
    }

    /// Reverts `prepare` if the backend has not carried out the update.
    func undo(_ attempt: RegistrationAttempt, for task: LedgerTask) throws {
        guard let user = task.request.user, attempt.undo != .nothing, try hasAttempt(attempt.id, of: user) else {
            return
        }
        try execute(
            sql: #"DELETE FROM update_attempt WHERE registration = ? AND "user" = ?"#,
            arguments: [attempt.id.text, user.text])
        guard attempt.undo == .reserve, var row = try registration(attempt.id), row.isLive, row.owner == user else {
            return
        }
        row.state = .reserved
        row.account = nil
        try store(row)
        try limitReservations(task.limits.reservations, of: user)
    }

    /// Removes the user's own attempt after a response, and other users' attempts that the backend can no longer carry
    /// out.
    func removeAttempts(on id: RegistrationID, by user: UserName, now: WallTime) throws {
        try execute(
            sql: #"DELETE FROM update_attempt WHERE registration = ? AND ("user" = ? OR at <= ?)"#,
            arguments: [id.text, user.text, now.adding(-Self.lateUpdatePeriod).microseconds])
    }

    /// Returns whether the backend may still carry out an update of the registration that it has not responded to.
    func hasPendingUpdate(_ id: RegistrationID, now: WallTime) throws -> Bool {
        try firstRow(
            sql: "SELECT 1 FROM update_attempt WHERE registration = ? AND at > ? LIMIT 1",
            arguments: [id.text, now.adding(-Self.lateUpdatePeriod).microseconds]) != nil
    }

    private func hasAttempt(_ id: RegistrationID, of user: UserName) throws -> Bool {
        try firstRow(
            sql: #"SELECT 1 FROM update_attempt WHERE registration = ? AND "user" = ?"#,
            arguments: [id.text, user.text]) != nil
    }

    private func storeAttempt(on id: RegistrationID, by user: UserName, _ account: Account?, now: WallTime) throws {
        try execute(
            sql: """
                INSERT INTO update_attempt (registration, "user", login, authenticator, at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (registration, "user") DO UPDATE SET login = excluded.login,
                    authenticator = excluded.authenticator, at = excluded.at
                """,
            arguments: [
                id.text, user.text, account?.login.text, account?.authenticator.text, now.microseconds,
            ])
    }

    /// Throws if an import has bound the handle since the claim was granted. Imports do not wait for calls.
    private func check(
        _ bound: Registration?, against decision: LedgerDecision, _ id: RegistrationID, of user: UserName
    ) throws {
        guard let bound, !bound.mayBeDeletedLate else { return }
        let isExpected =
            switch decision {
            case .ownershipTransfer(let known, let owner): bound.id == known && bound.owner == owner
            default: bound.owner == user && bound.id == decision.updated
            }
        guard try isExpected || (bound.owner == user && hasAttempt(bound.id, of: user)) else {
            throw LedgerUnavailable("an import has bound the device in the meantime", isFull: true)
        }
    }
}
