internal import GRDB
public import GatewayCore

extension SQLiteLedger: RegistrationLedger {
    /// Claims the handle first and then the registration, and decides on what stands there once both are held.
    ///
    /// Throws where what becomes of it could not be written: the backend must not be asked then.
    public func begin(
        _ request: LedgerRequest, now: WallTime, isRevoked: @escaping @Sendable () -> Bool
    ) async throws(LedgerUnavailable) -> LedgerClaim {
        try await requireWritable()
        if case .sweep(let id) = request { return try await beginSweep(of: id, now: now) }
        let handle = try key(of: request.handle)
        let number = claims.open(isRevoked)
        do throws(LedgerUnavailable) {
            if let handle { try await claims.hold(.handle(handle), for: number) }
            try await adoptFormerKeys(of: request, as: handle)
            let standing = try await settle(request, handle: handle, now: now, for: number)
            if let handle, !standing.touchesHandle { claims.letGo(.handle(handle), of: number) }
            return LedgerClaim(
                number: number, request: request, decision: standing.decision,
                registered: standing.isRegistered ? standing.registration : nil, isRevoked: isRevoked
            ) { [claims] number in
                claims.end(number)
            }
        } catch {
            claims.end(number)
            throw error
        }
    }

    /// Claims a registration that is to be deleted without waiting for a call that holds it: other registrations are not to wait
    /// for that call. Where its caller is revoked, the deletion goes ahead of it and is repeated when it has ended.
    private func beginSweep(of id: RegistrationID, now: WallTime) async throws(LedgerUnavailable) -> LedgerClaim {
        let number = claims.open()
        do throws(LedgerUnavailable) {
            var taking = claims.take(.registration(id), for: number)
            // With the handle of an orphan held, no device registers anew under the id while it is deleted.
            if taking == .taken, let handle = try await read({ try $0.stray(id)?.handle }) {
                taking = claims.take(.handle(handle), for: number)
            }
            var decision = LedgerDecision.spared
            if taking != .busy {
                decision = try await read { try $0.standing(of: .sweep(id), handle: nil, handOverLimit: 0, now: now) }
                    .decision
            }
            return LedgerClaim(
                number: number, request: .sweep(id), decision: decision, isAhead: taking == .heldByRevoked
            ) { [claims] number in
                claims.end(number)
            }
        } catch {
            claims.end(number)
            throw error
        }
    }

    /// Whether the id leads to a registration of another handle. A mere reservation holds nothing.
    public func isHeld(
        _ id: RegistrationID, forAnotherThan handle: DeviceHandle
    ) async throws(LedgerUnavailable) -> Bool {
        let keys = [try digester.key(of: handle)] + (try digester.formerKeys(of: handle))
        return try await read { tables in
            guard let row = try tables.registration(id), row.isBound else { return false }
            return !keys.contains { $0 == row.handle }
        }
    }

    /// Writes the attempt in one transaction.
    public func prepare(
        _ id: RegistrationID, replacing: RegistrationID?, for claim: borrowing LedgerClaim, now: WallTime
    ) async throws(LedgerUnavailable) -> RegistrationAttempt? {
        let isRevoked = claim.isRevoked
        if id == claim.registered { return isRevoked() ? nil : RegistrationAttempt(id: id, undo: .nothing) }
        let task = LedgerTask(
            request: claim.request, decision: claim.decision, handle: try key(of: claim.request.handle),
            changeHandle: nil, now: now, limits: limits)
        // A revocation after this look has its own transaction after this one, and finds the attempt.
        return try await write { tables in
            isRevoked() ? nil : try tables.prepare(id, replacing: replacing, for: task)
        }.get()
    }

    /// Marks it in one transaction, where it is in doubt.
    public func dropOutdated(_ id: RegistrationID, now: WallTime) async throws(LedgerUnavailable) {
        try await write { tables in
            guard try tables.registration(id)?.isInDoubt == true else { return }
            try tables.doom(id, because: .superseded)
        }.get()
    }

    /// Looks into memory.
    public func isClaimed(_ id: RegistrationID) -> Bool { claims.isHeld(.registration(id)) }

    /// What is marked, in the order of ids.
    public func doomed(limit: Int) async throws(LedgerUnavailable) -> [RegistrationID] {
        try await readAtLength { try $0.doomed(limit: limit) }
    }

    /// Writes the change in one transaction, durably, and only then lets the next in line look.
    ///
    /// Throws, having written nothing, where the change does not fit the claim.
    @discardableResult
    public func finish(
        _ claim: consuming LedgerClaim, with change: LedgerChange, now: WallTime
    ) async throws(LedgerUnavailable) -> Bool {
        let outcome: Result<Bool, LedgerUnavailable>
        do throws(LedgerUnavailable) {
            let task = LedgerTask(
                request: claim.request, decision: claim.decision,
                handle: try key(of: claim.request.handle), changeHandle: try key(of: change.handle), now: now,
                limits: limits, isRevoked: claim.isRevoked, isAhead: claim.isAhead)
            outcome = await write { tables in try tables.apply(change, to: task) }
        } catch {
            outcome = .failure(error)
        }
        // Not before the change is on disk may the next in line look.
        Self.end(claim)
        return try outcome.get()
    }

    /// Gives a registration that an earlier version bound under another spelling of the handle the key that the handle has now. Only
    /// where the device registers: the backend then gets the spelling of now for the same id.
    private func adoptFormerKeys(
        of request: LedgerRequest, as key: HandleKey?
    ) async throws(LedgerUnavailable) {
        guard case .update(_, _, let handle, _) = request, let key, !handle.formerTexts.isEmpty else { return }
        let former = try digester.formerKeys(of: handle)
        guard try await read({ try $0.registration(boundToAnyOf: former, unlessBound: key) }) else { return }
        _ = try await write { try $0.adopt(former, as: key) }.get()
    }

    /// Decides, takes the registration that the decision touches, and decides anew, until both fit: while a call waits for a
    /// registration, whoever has it may change what the call would find.
    private func settle(
        _ request: LedgerRequest, handle: HandleKey?, now: WallTime, for claim: UInt64
    ) async throws(LedgerUnavailable) -> LedgerStanding {
        let limit = limits.handOvers
        var held: RegistrationID?
        for _ in 0..<Self.mostAttempts {
            let standing = try await read { tables in
                try tables.standing(of: request, handle: handle, handOverLimit: limit, now: now)
            }
            if standing.registration == held { return standing }
            if let held { claims.letGo(.registration(held), of: claim) }
            held = standing.registration
            guard let wanted = held else { return standing }
            try await claims.hold(.registration(wanted), for: claim)
        }
        throw LedgerUnavailable("the registration changes faster than it can be claimed")
    }

    private func key(of handle: DeviceHandle?) throws(LedgerUnavailable) -> HandleKey? {
        guard let handle else { return nil }
        return try digester.key(of: handle)
    }

    private static let mostAttempts = 16

    private static func end(_ claim: consuming LedgerClaim) {}
}

extension LedgerRequest {
    /// The handle that the request names.
    var handle: DeviceHandle? {
        switch self {
        case .create(_, let handle): handle
        case .update(_, _, let handle, _): handle
        case .delete, .sweep: nil
        }
    }
}

extension LedgerChange {
    /// The handle that the change names.
    var handle: DeviceHandle? {
        switch self {
        case .reserved(_, let handle): handle
        case .registered, .unresolved, .undone, .deleted, .deleting, .unconfirmed: nil
        }
    }
}
