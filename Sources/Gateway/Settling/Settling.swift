internal import GatewayCore
internal import Logging

/// The last phase: how the call ended is written down, once for each intent, and becomes the client's answer.
struct Settling: Sendable {
    let client: BackendProfile.ClientSide
    let journal: any Journal
    let ledger: any RegistrationLedger
    let sessions: any SessionStore
    let clocks: Clocks
    let challenges: [Answer.Field]
    let logger: Logger

    @inline(never)
    func settle(_ forwarded: consuming ForwardedPlan) async -> Answer {
        if let answer = settleAtOnce(forwarded) { return answer }
        return await settleInLedger(forwarded)
    }

    /// Sends, of which the ledger knows nothing; nil for everything else.
    @inline(never)
    private func settleAtOnce(_ forwarded: borrowing ForwardedPlan) -> Answer? {
        let facts = forwarded.plan.facts
        if let audience = forwarded.plan.audience {
            let answer = settle(audience, forwarded.memberEnds, facts)
            forwarded.plan.claim?.settle(SendEnd(forwarded.memberEnds.map(\.end.result), answer))
            return answer
        }
        guard forwarded.plan.purpose.isSend else { return nil }
        return finish(
            Settled(forwarded.end.result, .empty(200)), forwarded.end, forwarded.milliseconds, facts,
            forwarded.plan.claim)
    }

    @inline(never)
    private func settleInLedger(_ forwarded: consuming ForwardedPlan) async -> Answer {
        let end = forwarded.end
        let milliseconds = forwarded.milliseconds
        var facts = forwarded.plan.facts
        let sendClaim = forwarded.plan.claim
        let settled: Settled
        switch consume forwarded.plan.purpose {
        case .send:
            settled = Settled(end.result, .empty(200))
        case .create(let handle, let claim):
            settled = await settleCreate(end, handle: handle, claim, &facts)
        case .update(let label, let handle, let epoch, let claim):
            settled = await settleUpdate(end, label: label, handle, since: epoch, claim, &facts)
        case .delete(let id, let claim):
            settled = await settleDelete(end, id, claim, facts.call)
        }
        return finish(settled, end, milliseconds, facts, sendClaim)
    }

    private func finish(
        _ settled: Settled, _ end: ForwardResult, _ milliseconds: Int, _ facts: CallFacts, _ claim: SendClaim?
    ) -> Answer {
        journal.note(
            JournalRecord(
                .outcome, facts: facts, result: settled.result.rawValue, status: end.status,
                milliseconds: milliseconds))
        let answer = answer(settled, end, facts.call)
        claim?.settle(SendEnd(settled.result, answer))
        return answer
    }

    private func answer(_ settled: Settled, _ end: ForwardResult, _ call: CallID) -> Answer {
        guard let refusal = settled.result.refusal else { return settled.answer }
        logger.warning(
            "The backend did not carry a call out",
            metadata: ["call": "\(call)", "code": "\(refusal.rawValue)", "detail": "\(end.detail)"])
        return ProblemDocument.answer(
            Refusal(refusal, end.detail, extra: settled.result.extra), challenges: challenges)
    }

    private struct Settled {
        var result: CallResult
        var answer: Answer

        init(_ result: CallResult, _ answer: Answer) {
            self.result = result
            self.answer = answer
        }
    }

    private func settleCreate(
        _ end: ForwardResult, handle: DeviceHandle?, _ claim: consuming LedgerClaim, _ facts: inout CallFacts
    ) async -> Settled {
        guard end.result == .accepted, let id = end.reserved else { return Settled(end.result, .empty(200)) }
        facts.registration = id
        // An id that was given without the handle does not take the place of the one that the handle is bound to.
        let result = await write(.reserved(id, handle: end.askedAgain ? nil : handle), claim, facts.call)
        return Settled(result ?? .accepted, .registrationID(id))
    }

    private func settleUpdate(
        _ end: ForwardResult, label: RegistrationID, _ handle: DeviceHandle, since epoch: RevocationEpoch,
        _ claim: consuming LedgerClaim, _ facts: inout CallFacts
    ) async -> Settled {
        let answer = Answer.empty(client.updateStatus(of: handle.service))
        guard end.result == .accepted else { return Settled(end.result, answer) }
        let known: RegistrationID? =
            switch claim.decision {
            case .own(let id), .handOver(let id, _), .rotation(let id): id
            case .unplaced, .tooManyHandOvers, .askWithHandle, .askWithoutHandle, .owned, .notOwned, .doomed, .spared:
                nil
            }
        guard let id = end.followedGone ? end.reserved : known ?? end.reserved else {
            return Settled(.backendFailed, answer)
        }
        facts.registration = id
        // The device's own id from before, proven by its handle.
        let adopted = known == nil && !end.followedGone && id == label
        let owner = claim.request.user
        let failure = await write(.registered(id, replacing: id == known ? nil : known), claim, facts.call)
        if let owner, sessions.wasRevoked(owner, since: epoch) {
            await doom(id, of: owner, facts.call)
            return Settled(.revoked, answer)
        }
        return Settled(failure ?? (end.followedGone ? .healed : adopted ? .adopted : .accepted), answer)
    }

    private func settleDelete(
        _ end: ForwardResult, _ id: RegistrationID, _ claim: consuming LedgerClaim, _ call: CallID
    ) async -> Settled {
        guard end.result == .accepted else {
            // Whatever the backend did: the device wanted to be gone, and that is not forgotten. A failure to write is logged.
            _ = await write(.deleting(id), claim, call)
            return Settled(end.result, .empty(200))
        }
        let failure = await write(.deleted(id), claim, call)
        return Settled(failure ?? (end.followedGone ? .neutralised : .accepted), .empty(200))
    }

    /// What was registered while its owner was revoked was let in by what no longer holds, and goes again.
    private func doom(_ id: RegistrationID, of owner: UserName, _ call: CallID) async {
        do throws(LedgerUnavailable) {
            try await ledger.doom(id, of: owner, because: .revoked)
        } catch {
            logger.error(
                "A registration of a revoked user stays for now",
                metadata: ["call": "\(call)", "registration": "\(id)", "detail": "\(error.detail)"])
        }
    }

    /// Writes to the ledger; the result that the call has if that fails.
    private func write(
        _ change: LedgerChange, _ claim: consuming LedgerClaim, _ call: CallID
    ) async -> CallResult? {
        do throws(LedgerUnavailable) {
            try await ledger.finish(claim, with: change, now: clocks.wall())
            return nil
        } catch {
            logger.error(
                "The ledger cannot be written",
                metadata: ["call": "\(call)", "detail": "\(error.detail)"])
            return .ledgerFailed
        }
    }
}
