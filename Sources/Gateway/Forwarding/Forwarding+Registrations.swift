internal import GatewayCore
internal import GatewaySupport

// The values that the steps of registrations need beside their requests.

extension Forwarding {
    /// Performs what a reservation with a handle needs beside its request.
    ///
    /// - Parameter deletesOthers: Whether further registrations of the handle are deleted. A caller that only asks for
    ///   an id has not shown that the device is its own.
    @inline(never)
    func completeReservation(
        for handle: DeviceHandle, deletesOthers: Bool, _ stepResult: StepResult, _ run: inout PlanExecution
    ) async -> StepResult {
        switch stepResult {
        case .unassigned: return await exchange(.reserve(handle: nil), &run)
        case .done:
            guard let id = run.outcome.reserved else { return .done }
            let surplus = run.takeSurplus()
            let reserved = await reserveAgain(id, unlessFor: handle, .done, &run)
            guard deletesOthers, case .done = reserved else { return reserved }
            return await delete(surplus, unlessForAnotherThan: handle, &run)
        case .gone, .failed: return stepResult
        }
    }

    /// Deletes further registrations of a handle. The ledger allows one for each handle.
    @inline(never)
    private func delete(
        _ surplus: [RegistrationID], unlessForAnotherThan handle: DeviceHandle, _ run: inout PlanExecution
    ) async -> StepResult {
        for id in surplus where id != run.outcome.reserved {
            do throws(LedgerUnavailable) {
                if try await ledger.isHeld(id, forAnotherThan: handle) { continue }
            } catch {
                run.outcome.result = .ledgerFailed
                run.outcome.detail = "ledger: \(error.detail)"
                return .failed
            }
            guard case .done = await exchange(.delete(id, owner: run.caller), &run) else { return .failed }
        }
        return .done
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
                    id, replacing: id == known ? nil : known, for: update.claim, now: clocks.wall())
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

    /// Requests another id without a handle if the backend assigned an id that the ledger has for another handle.
    @inline(never)
    private func reserveAgain(
        _ id: RegistrationID, unlessFor handle: DeviceHandle, _ stepResult: StepResult, _ run: inout PlanExecution
    ) async -> StepResult {
        do throws(LedgerUnavailable) {
            guard try await ledger.isHeld(id, forAnotherThan: handle) else { return stepResult }
            try await ledger.dropOutdated(id, now: clocks.wall())
        } catch {
            run.outcome.result = .ledgerFailed
            run.outcome.detail = "ledger: \(error.detail)"
            return .failed
        }
        run.outcome.reservedWithoutHandle = true
        return await exchange(.reserve(handle: nil), &run)
    }
}
