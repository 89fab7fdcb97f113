internal import GatewayCore
internal import Logging

/// The last phase: records exactly one outcome for each intent, and creates the response to the client.
struct Settling: Sendable {
    let profile: BackendProfile
    let journal: any Journal
    let ledger: any RegistrationLedger
    let clocks: Clocks
    let challenges: [Answer.Field]
    let logger: Logger

    @inline(never)
    func settle(_ forwarded: consuming ForwardedPlan) async -> Answer {
        if let answer = settleAtOnce(forwarded) { return answer }
        return await settleInLedger(forwarded)
    }

    /// Completes sends, which do not concern the ledger; returns nil for other calls.
    @inline(never)
    private func settleAtOnce(_ forwarded: borrowing ForwardedPlan) -> Answer? {
        let facts = forwarded.plan.facts
        if let audience = forwarded.plan.audience {
            let answer = settle(audience, forwarded.memberResults, facts)
            forwarded.plan.claim?.settle(SendEnd(forwarded.memberResults.map(\.outcome.result), answer))
            return answer
        }
        guard forwarded.plan.purpose.isSend else { return nil }
        return finish(
            Settled(forwarded.outcome.result, .empty(200)), forwarded.outcome, forwarded.milliseconds, facts,
            forwarded.plan.claim)
    }

    /// Completes a deletion that the gateway makes by itself.
    ///
    /// - Returns: Whether nothing is left to delete.
    func settleSweep(_ forwarded: consuming ForwardedPlan) async -> Bool {
        let (outcome, milliseconds, facts) = (forwarded.outcome, forwarded.milliseconds, forwarded.plan.facts)
        switch consume forwarded.plan.purpose {
        case .delete(let id, let claim):
            let settled = await settleDelete(outcome, id, claim, facts.call)
            _ = finish(settled, outcome, milliseconds, facts, nil)
            return settled.isComplete
        case .create: return false
        case .update: return false
        case .send: return false
        }
    }

    @inline(never)
    private func settleInLedger(_ forwarded: consuming ForwardedPlan) async -> Answer {
        let outcome = forwarded.outcome
        let milliseconds = forwarded.milliseconds
        var facts = forwarded.plan.facts
        let sendClaim = forwarded.plan.claim
        let settled: Settled
        switch consume forwarded.plan.purpose {
        case .send:
            settled = Settled(outcome.result, .empty(200))
        case .create(let handle, let claim):
            settled = await settleCreate(outcome, handle: handle, claim, &facts)
        case .update(let update):
            settled = await settleUpdate(outcome, label: update.label, update.handle, update.claim, &facts)
        case .delete(let id, let claim):
            settled = await settleDelete(outcome, id, claim, facts.call)
        }
        return finish(settled, outcome, milliseconds, facts, sendClaim)
    }

    private func finish(
        _ settled: Settled, _ outcome: ForwardResult, _ milliseconds: Int, _ facts: CallFacts, _ claim: SendClaim?
    ) -> Answer {
        journal.note(
            JournalRecord(
                .outcome, facts: facts, result: settled.result.rawValue, status: outcome.status,
                milliseconds: milliseconds))
        let answer = answer(settled, outcome, facts.call)
        claim?.settle(SendEnd(settled.result, answer))
        return answer
    }

    private func answer(_ settled: Settled, _ outcome: ForwardResult, _ call: CallID) -> Answer {
        guard let refusal = settled.result.refusal else { return settled.answer }
        logger.warning(
            "Backend call failed",
            metadata: ["call": "\(call)", "code": "\(refusal.rawValue)", "detail": "\(outcome.detail)"])
        return ProblemDocument.answer(
            Refusal(refusal, outcome.detail, extra: settled.result.extra), challenges: challenges)
    }

    private struct Settled {
        var result: CallResult
        var answer: Answer
        /// For a deletion: whether nothing is left to delete.
        var isComplete: Bool

        init(_ result: CallResult, _ answer: Answer, isComplete: Bool = false) {
            self.result = result
            self.answer = answer
            self.isComplete = isComplete
        }
    }

    private func settleCreate(
        _ outcome: ForwardResult, handle: DeviceHandle?, _ claim: consuming LedgerClaim, _ facts: inout CallFacts
    ) async -> Settled {
        guard outcome.result == .accepted, let id = outcome.reserved else {
            return Settled(outcome.result, .empty(200))
        }
        facts.registration = id
        // An id that was assigned without the handle does not replace the one that the handle is bound to.
        switch await write(.reserved(id, handle: outcome.reservedWithoutHandle ? nil : handle), claim, facts.call) {
        case nil: return Settled(.ledgerFailed, .registrationID(id))
        case false: return Settled(.revoked, .registrationID(id))
        case true: return Settled(.accepted, .registrationID(id))
        }
    }

    private func settleUpdate(
        _ outcome: ForwardResult, label: RegistrationID, _ handle: DeviceHandle, _ claim: consuming LedgerClaim,
        _ facts: inout CallFacts
    ) async -> Settled {
        let answer = Answer.empty(profile.client.updateStatus(of: handle.service))
        guard outcome.result == .accepted else {
            if let attempt = outcome.attempt, outcome.isInDoubt || attempt.undo != .nothing {
                facts.registration = attempt.id
                _ = await write(outcome.isInDoubt ? .unresolved(attempt.id) : .undone(attempt), claim, facts.call)
            }
            return Settled(outcome.result, answer)
        }
        let known = claim.decision.updated
        guard let id = outcome.usedAlternative ? outcome.reserved : known ?? outcome.reserved else {
            return Settled(.backendFailed, answer)
        }
        facts.registration = id
        // The device presented the id that it had before the gateway was installed, and its handle proves it.
        let adopted = known == nil && !outcome.usedAlternative && id == label
        switch await write(.registered(id, replacing: id == known ? nil : known), claim, facts.call) {
        case nil: return Settled(.ledgerFailed, answer)
        case false: return Settled(.revoked, answer)
        case true: return Settled(outcome.usedAlternative ? .healed : adopted ? .adopted : .accepted, answer)
        }
    }

    private func settleDelete(
        _ outcome: ForwardResult, _ id: RegistrationID, _ claim: consuming LedgerClaim, _ call: CallID
    ) async -> Settled {
        guard outcome.result == .accepted else {
            // The device's wish to be deleted is kept, whatever the backend did. `write` logs a failure.
            _ = await write(.deleting(id), claim, call)
            return Settled(outcome.result, .empty(200))
        }
        // The backend overwrote the registration instead of deleting it. If its confirmation proves nothing, the
        // deletion is repeated.
        let isUnconfirmed = outcome.usedAlternative && !profile.backend.confirmsUpdates
        let written = await write(isUnconfirmed ? .unconfirmed(id) : .deleted(id), claim, call)
        guard let isComplete = written else { return Settled(.ledgerFailed, .empty(200)) }
        if isUnconfirmed {
            guard isComplete else { return Settled(.deleteUnconfirmed, .empty(200)) }
            logger.warning(
                "Backend did not confirm a deletion within a day; deletion abandoned",
                metadata: ["call": "\(call)", "registration": "\(id)"])
        }
        return Settled(outcome.usedAlternative ? .neutralised : .accepted, .empty(200), isComplete: isComplete)
    }

    /// Writes the change to the ledger.
    ///
    /// - Returns: The ledger's result; nil if it could not be written.
    private func write(
        _ change: LedgerChange, _ claim: consuming LedgerClaim, _ call: CallID
    ) async -> Bool? {
        do throws(LedgerUnavailable) {
            return try await ledger.finish(claim, with: change, now: clocks.wall())
        } catch {
            logger.error(
                "Ledger cannot be written",
                metadata: ["call": "\(call)", "detail": "\(error.detail)"])
            return nil
        }
    }
}
