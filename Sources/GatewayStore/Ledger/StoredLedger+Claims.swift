public import GatewayCore
public import GatewaySupport

extension StoredLedger: RegistrationLedger {
    /// Locks the handle, then the registration, and decides once both are held.
    ///
    /// Throws if the ledger cannot store the result. The backend must then not be called.
    public func begin(
        _ request: LedgerRequest, at upstream: UpstreamName?, now: WallTime,
        isRevoked: @escaping @Sendable () -> Bool
    ) async throws(LedgerUnavailable) -> LedgerClaim {
        try await requireWritable()
        if case .sweep(let id) = request { return try await beginSweep(of: id, now: now) }
        let handle = try key(of: request.handle)
        let number = claims.makeClaim(isRevoked)
        do throws(LedgerUnavailable) {
            if let handle { try await claims.acquire(.handle(handle), for: number) }
            try await adoptFormerKeys(of: request, as: handle)
            let (lookup, version) = try await decide(request, handle: handle, at: upstream, now: now, for: number)
            var renewable: LedgerClaim.Renewable?
            if lookup.isRenewal, let id = lookup.registration, version != nil || claims.isShared {
                renewable = LedgerClaim.Renewable(id: id, version: version)
            }
            if let handle, !lookup.touchesHandle { claims.release(.handle(handle), of: number) }
            try await confirm(number)
            return LedgerClaim(
                number: number, request: request, decision: lookup.decision, upstream: upstream, place: lookup.place,
                registered: lookup.isRegistered ? lookup.registration : nil,
                renewable: renewable, isRevoked: isRevoked
            ) { [claims] number in
                claims.releaseAll(number)
            }
        } catch {
            claims.releaseAll(number)
            throw error
        }
    }

    /// Claims a registration for a sweep without waiting for a call that holds it, so that the sweep's other
    /// registrations are not delayed. If the call's user is revoked, the sweep deletes the registration anyway and
    /// repeats the deletion after the call.
    private func beginSweep(of id: RegistrationID, now: WallTime) async throws(LedgerUnavailable) -> LedgerClaim {
        let number = claims.makeClaim()
        do throws(LedgerUnavailable) {
            var result = try await claims.tryAcquire(.registration(id), for: number)
            // The lock on an orphan's handle keeps a device from registering under the id again during the deletion.
            if result == .acquired, let handle = try await read({ try $0.orphan(id)?.handle }) {
                result = try await claims.tryAcquire(.handle(handle), for: number)
            }
            var lookup = LedgerLookup(decision: .notMarked)
            if result != .busy {
                lookup = try await read {
                    try $0.lookUp(.sweep(id), handle: nil, at: nil, handOverLimit: 0, now: now)
                }
            }
            try await confirm(number)
            return LedgerClaim(
                number: number, request: .sweep(id), decision: lookup.decision, place: lookup.place,
                precedesCall: result == .heldByRevoked
            ) { [claims] number in
                claims.releaseAll(number)
            }
        } catch {
            claims.releaseAll(number)
            throw error
        }
    }

    /// Returns whether a registration with the id is bound to another handle, which a reservation is not, or whether a
    /// deletion of it may still be carried out.
    public func isHeld(
        _ id: RegistrationID, forAnotherThan handle: DeviceHandle
    ) async throws(LedgerUnavailable) -> Bool {
        let keys = [try digester.key(of: handle)] + (try digester.formerKeys(of: handle))
        return try await read { tables in
            if try tables.mayBeDeletedLate(id) { return true }
            guard let row = try tables.registration(id), row.isBound else { return false }
            return !keys.contains { $0 == row.handle }
        }
    }

    /// Stores the attempt in one transaction.
    public func prepare(
        _ id: RegistrationID, replacing: RegistrationID?, superseding: [RegistrationID],
        for claim: borrowing LedgerClaim, now: WallTime
    ) async throws(LedgerUnavailable) -> RegistrationAttempt? {
        let number = claim.number
        if id == claim.registered, superseding.isEmpty {
            try await confirm(number)
            return claim.isRevoked() ? nil : RegistrationAttempt(id: id, undo: .nothing)
        }
        let task = LedgerTask(
            request: claim.request, decision: claim.decision, handle: try key(of: claim.request.handle),
            changeHandle: nil, now: now, limits: limits, isRevoked: claim.isRevoked, upstream: claim.upstream)
        // A later revocation has its own transaction after this one and finds the attempt.
        return try await write(knowingRevocationsOf: claim.request.user) { [claims] tables in
            try claims.check(number, tables)
            if try tables.isRevoked(task) { return nil }
            let attempt = try tables.prepare(id, replacing: replacing, for: task)
            for other in superseding where other != id { try tables.supersede(unknown: other, task) }
            return attempt
        }.get()
    }

    /// Marks the registration for deletion in one transaction if an update of it has an unknown outcome.
    public func dropOutdated(_ id: RegistrationID, now: WallTime) async throws(LedgerUnavailable) {
        try await write { tables in
            guard try tables.registration(id)?.isInDoubt == true else { return }
            try tables.markForDeletion(id, because: .superseded)
        }.get()
    }

    /// Returns whether a call of this gateway holds the registration. Reads only memory.
    public func isClaimed(_ id: RegistrationID) -> Bool { claims.isHeld(.registration(id)) }

    /// Returns the marked registrations in the order in which they are to be deleted.
    public func markedForDeletion(limit: Int) async throws(LedgerUnavailable) -> [MarkedRegistration] {
        try await readAtLength { try $0.markedForDeletion(limit: limit) }
    }

    /// Writes the change durably in one transaction, then releases the claim's locks. A renewal is durable within a
    /// second; see `RenewalBuffer` and, if several gateways use the ledger, `SharedClaims.renew`.
    ///
    /// Throws if the change does not fit the claim or another gateway has taken it over, and then writes nothing.
    @discardableResult
    public func finish(
        _ claim: consuming LedgerClaim, with change: LedgerChange, now: WallTime
    ) async throws(LedgerUnavailable) -> Bool {
        let number = claim.number
        if let id = renewed(by: change, claim), let user = claim.request.user {
            let renewal = RenewalBuffer.Renewal(owner: user, time: now)
            guard claims.isShared else {
                renewals.add(renewal, of: id, limit: limits.registrations)
                return true
            }
            // Not buffered: another gateway could otherwise take the registration for the one not seen for the longest
            // time, and mark it for deletion.
            if await claims.renew(id, renewal, limit: limits.registrations, for: number) { return true }
        }
        let outcome: Result<Bool, LedgerUnavailable>
        do throws(LedgerUnavailable) {
            let task = LedgerTask(
                request: claim.request, decision: claim.decision,
                handle: try key(of: claim.request.handle), changeHandle: try key(of: change.handle), now: now,
                limits: limits, isRevoked: claim.isRevoked, upstream: claim.upstream, precedesCall: claim.precedesCall)
            outcome = await write(knowingRevocationsOf: claim.request.user) { [claims] tables in
                try claims.remove(number, tables)
                return try tables.apply(change, to: task)
            }
            if case .success = outcome { claims.forget(number) }
        } catch {
            outcome = .failure(error)
        }
        // The next claim may start only once the change is on disk.
        Self.discard(claim)
        return try outcome.get()
    }

    /// Returns the registration that the change renews; nil if the change has to be written at once. A revocation after
    /// this check finds the registration, which is in the ledger already.
    private func renewed(by change: LedgerChange, _ claim: borrowing LedgerClaim) -> RegistrationID? {
        guard let renewable = claim.renewable, claims.isShared || commits.version == renewable.version,
            !claim.isRevoked()
        else { return nil }
        let id = renewable.id
        return switch (change, claim.request) {
        case (.registered(id, nil), .update): id
        case (.reserved(id, let handle?), .create(_, let asked)) where handle == asked: id
        default: nil
        }
    }

    /// Changes a registration that an earlier version bound under another spelling of the handle to the current key.
    /// Applies only when the device registers, because the backend then receives the current spelling for the same id.
    private func adoptFormerKeys(
        of request: LedgerRequest, as key: HandleKey?
    ) async throws(LedgerUnavailable) {
        guard case .update(_, _, let handle, _) = request, let key, !handle.formerTexts.isEmpty else { return }
        let former = try digester.formerKeys(of: handle)
        guard try await read({ try $0.registration(boundToAnyOf: former, unlessBound: key) }) else { return }
        _ = try await write { try $0.adopt(former, as: key) }.get()
    }

    /// Looks up the decision, locks the registration that it affects, and repeats both until the decision affects the
    /// locked registration. While a call waits for a lock, the holder of the lock may change the decision.
    ///
    /// - Returns: The decision, and the version of the ledger that it was made of; nil if the version changed meanwhile,
    ///   or if several gateways use the ledger.
    private func decide(
        _ request: LedgerRequest, handle: HandleKey?, at upstream: UpstreamName?, now: WallTime, for claim: UInt64
    ) async throws(LedgerUnavailable) -> (LedgerLookup, version: UInt64?) {
        let limit = limits.ownershipTransfers
        var held: RegistrationID?
        for _ in 0..<Self.maximumAttempts {
            let version = claims.isShared ? nil : commits.version
            let lookup = try await read { tables in
                try tables.lookUp(request, handle: handle, at: upstream, handOverLimit: limit, now: now)
            }
            if lookup.registration == held { return (lookup, version) }
            if let held { claims.release(.registration(held), of: claim) }
            held = lookup.registration
            guard let wanted = held else { return (lookup, version) }
            try await claims.acquire(.registration(wanted), for: claim)
            if let version, commits.version == version { return (lookup, version) }
        }
        throw LedgerUnavailable("the registration changed too often while it was being claimed")
    }

    /// Throws if another gateway has taken over the claim, before the backend is called. Reads only memory for a claim that
    /// is some seconds old at most. Such a claim can be lost only in a crash of the server, and then `finish` throws.
    private func confirm(_ number: UInt64) async throws(LedgerUnavailable) {
        if claims.isCertain(number) { return }
        try await write { [claims] tables in try claims.check(number, tables) }.get()
    }

    private func key(of handle: DeviceHandle?) throws(LedgerUnavailable) -> HandleKey? {
        guard let handle else { return nil }
        return try digester.key(of: handle)
    }

    private static let maximumAttempts = 16

    private static func discard(_ claim: consuming LedgerClaim) {}
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
        case .registered, .unresolved, .undone, .deleted, .deleting, .deletionUnanswered, .unconfirmed: nil
        }
    }
}
