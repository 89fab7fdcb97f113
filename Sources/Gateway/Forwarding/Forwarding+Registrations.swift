internal import GatewayCore
internal import GatewaySupport

// The values that the steps of registrations need beside their requests.

extension Forwarding {
    /// Performs what a successful reservation with a handle needs beside its request: determines the id of the device's
    /// registration, and requests one without the handle if there is none.
    @inline(never)
    func completeReservation(
        for handle: DeviceHandle, _ purpose: borrowing UpstreamPlan.Purpose, _ run: inout PlanExecution
    ) async -> StepResult {
        do throws(LedgerUnavailable) {
            if run.upstream.codec.listsRegistrations {
                let listed = run.listed
                var chosen = purpose.knownRegistration(among: listed)
                for id in listed where chosen == nil {
                    if try await !ledger.isHeld(id, forAnotherThan: handle) { chosen = id }
                }
                run.outcome.reserved = chosen
                // A caller that only asks for an id has not shown that the device is its own.
                if purpose.isUpdate { run.outcome.superseded = listed.filter { $0 != chosen } }
                if chosen != nil { return .done }
                run.outcome.reservedWithoutHandle = !listed.isEmpty
            } else {
                guard let id = run.outcome.reserved, try await ledger.isHeld(id, forAnotherThan: handle) else {
                    return .done
                }
                try await ledger.dropOutdated(id, now: clocks.wall())
                run.outcome.reservedWithoutHandle = true
            }
        } catch {
            run.outcome.result = .ledgerFailed
            run.outcome.detail = "ledger: \(error.detail)"
            return .failed
        }
        return await exchange(.reserve(handle: nil), &run)
    }

    /// Records an update in the ledger before it is sent to the backend.
    ///
    /// - Returns: Whether the backend may be called.
    @inline(never)
    func prepare(
        _ target: RegistrationTarget, _ purpose: borrowing UpstreamPlan.Purpose, _ run: inout PlanExecution
    ) async -> Bool {
        switch purpose {
        case .registration(.update(let update)):
            let known = update.claim.decision.updated
            let registration: RegistrationID? = if case .known(let id) = target { id } else { run.outcome.reserved }
            guard let id = registration else { return true }
            do throws(LedgerUnavailable) {
                let prepared = try await ledger.prepare(
                    id, replacing: id == known ? nil : known, superseding: run.outcome.superseded, for: update.claim,
                    now: clocks.wall())
                if let prepared {
                    run.outcome.attempt = prepared
                    return true
                }
            } catch {
                run.outcome.result = .ledgerUnavailable
                run.outcome.detail = "ledger: \(error.detail)"
                return false
            }
            // An update attempted by an earlier step stays in the result, and the completion phase handles it.
            run.outcome.result = .revoked
            run.outcome.detail = "the caller was revoked before the request to the backend"
            return false
        case .registration(.create): return true
        case .registration(.delete): return true
        case .send: return true
        }
    }
}

extension UpstreamPlan.Purpose {
    /// Returns the registration that an update applies to, provided that this upstream has it: it was made there, or the
    /// upstream lists it for the device.
    fileprivate func knownRegistration(among listed: [RegistrationID]) -> RegistrationID? {
        switch self {
        case .registration(.update(let update)):
            guard let known = update.claim.decision.updated else { return nil }
            return !update.claim.isElsewhere || listed.contains(known) ? known : nil
        case .registration(.create): return nil
        case .registration(.delete): return nil
        case .send: return nil
        }
    }
}
