internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// The complete phase, the last one: records exactly one outcome for each intent, and creates the response to the
/// client.
struct Completion: Sendable {
    let client: BackendProfile.ClientSide
    let journal: any Journal
    let ledger: any RegistrationLedger
    let clocks: Clocks
    /// Makes the references of scheduled sends.
    let digester: KeyedDigester
    /// The texts of secure sends; nil if there are none.
    let texts: (any SecureTextStore)?
    let challenges: [Response.Field]
    let logger: Logger

    @inline(never)
    /// Writes the change to the ledger, records the outcome, and returns the response to the client.
    func complete(_ forwarded: consuming ForwardedPlan) async -> Response {
        switch completeSend(forwarded) {
        case .completed(let response): return response
        case .registration(let registration): return await complete(registration).response
        }
    }

    /// Completes the deletion of a registration that was marked for deletion (see `Gateway.sweep(_:as:)`).
    ///
    /// - Returns: Whether nothing is left to delete.
    func completeSweep(_ forwarded: consuming ForwardedPlan) async -> Bool {
        switch completeSend(forwarded) {
        // `Rewriting.planSweep(_:)` plans no send.
        case .completed: return false
        case .registration(let registration): return await complete(registration).isComplete
        }
    }

    /// The result of the synchronous part of the phase.
    private enum SendCompletion: ~Copyable {
        case completed(Response)
        /// The plan is not a send, and its change has to be written to the ledger.
        case registration(ForwardedRegistration)
    }

    /// A change of a registration with the backend's result.
    private struct ForwardedRegistration: ~Copyable {
        let upstream: PlannedUpstream
        let change: UpstreamPlan.RegistrationChange
        let outcome: ForwardResult
        let milliseconds: Int
        let facts: CallFacts
    }

    /// Completes sends, which do not concern the ledger.
    @inline(never)
    private func completeSend(_ forwarded: consuming ForwardedPlan) -> SendCompletion {
        let (outcome, milliseconds) = (forwarded.outcome, forwarded.milliseconds)
        let (facts, claim) = (forwarded.plan.facts, forwarded.plan.claim)
        let (audience, memberResults) = (forwarded.plan.audience, forwarded.memberResults)
        let upstream = forwarded.plan.upstream
        if let text = forwarded.plan.secureText {
            removeUnsent(text, audience == nil ? [outcome.result] : memberResults.map(\.outcome.result))
        }
        switch consume forwarded.plan.purpose {
        case .registration(let change):
            return .registration(
                ForwardedRegistration(
                    upstream: upstream, change: change, outcome: outcome, milliseconds: milliseconds, facts: facts))
        case .send:
            guard let audience else {
                let completed = Completed(outcome.result, sent(outcome, facts))
                return .completed(finish(completed, outcome, milliseconds, facts, claim))
            }
            let response = complete(audience, memberResults, facts)
            claim?.complete(IdempotentResult(memberResults.map(\.outcome.result), response))
            return .completed(response)
        }
    }

    /// Returns the response to a send to one user: without a body, and for a scheduled send with the place where it can
    /// be cancelled.
    private func sent(_ outcome: ForwardResult, _ facts: CallFacts) -> Response {
        var response = Response.empty(200)
        guard facts.scheduled != nil, let sender = facts.user, let notification = outcome.notification,
            let reference = ScheduledSendReference(notification, facts.secureID, of: sender, digester)
        else { return response }
        response.fields.append(Response.Field("Location", ScheduledSendReference.path + reference.text))
        return response
    }

    /// Removes the texts whose push certainly did not leave: the sender may send again, and nobody learns the id.
    ///
    /// - Parameter results: The results, in the order of the places.
    private func removeUnsent(_ text: SecureTextReservation, _ results: [CallResult]) {
        let unsent = zip(text.places, results).filter { $1.certainty == .notSent }
        texts?.remove(unsent.map(\.0.id))
    }

    @inline(never)
    private func complete(
        _ registration: consuming ForwardedRegistration
    ) async -> (response: Response, isComplete: Bool) {
        let outcome = registration.outcome
        let milliseconds = registration.milliseconds
        var facts = registration.facts
        let completed: Completed
        switch consume registration.change {
        case .create(let handle, let claim):
            completed = await completeCreate(outcome, handle: handle, claim, &facts)
        case .update(let update):
            completed = await completeUpdate(outcome, label: update.label, update.handle, update.claim, &facts)
        case .delete(let id, let claim):
            completed = await completeDelete(
                outcome, id, claim, facts.call, isProof: registration.upstream.codec.confirmsUpdates)
        }
        return (finish(completed, outcome, milliseconds, facts), completed.isComplete)
    }

    private func finish(
        _ completed: Completed, _ outcome: ForwardResult, _ milliseconds: Int, _ facts: CallFacts,
        _ claim: IdempotencyClaim? = nil
    ) -> Response {
        journal.append(
            JournalRecord(
                .outcome, facts: facts, result: completed.result.rawValue, status: outcome.status,
                milliseconds: milliseconds, notification: outcome.notification))
        let response = response(completed, outcome, facts.call)
        claim?.complete(IdempotentResult(completed.result, response))
        return response
    }

    private func response(_ completed: Completed, _ outcome: ForwardResult, _ call: CallID) -> Response {
        guard let rejection = completed.result.rejection else { return completed.response }
        logger.warning(
            "Backend call failed",
            metadata: ["call": "\(call)", "code": "\(rejection.rawValue)", "detail": "\(outcome.detail)"])
        return ProblemDocument.response(
            Rejection(rejection, outcome.detail, extra: outcome.extra(for: completed.result)), challenges: challenges)
    }

    private struct Completed {
        var result: CallResult
        var response: Response
        /// For a deletion: whether nothing is left to delete.
        var isComplete: Bool

        init(_ result: CallResult, _ response: Response, isComplete: Bool = false) {
            self.result = result
            self.response = response
            self.isComplete = isComplete
        }
    }

    private func completeCreate(
        _ outcome: ForwardResult, handle: DeviceHandle?, _ claim: consuming LedgerClaim, _ facts: inout CallFacts
    ) async -> Completed {
        guard outcome.result == .accepted, let id = outcome.reserved ?? claim.registered else {
            return Completed(outcome.result, .empty(200))
        }
        facts.registration = id
        // An id that was assigned without the handle does not replace the one that the handle is bound to.
        switch await write(.reserved(id, handle: outcome.reservedWithoutHandle ? nil : handle), claim, facts.call) {
        case nil: return Completed(.ledgerFailed, .registrationID(id))
        case false: return Completed(.revoked, .registrationID(id))
        case true: return Completed(.accepted, .registrationID(id))
        }
    }

    private func completeUpdate(
        _ outcome: ForwardResult, label: RegistrationID, _ handle: DeviceHandle, _ claim: consuming LedgerClaim,
        _ facts: inout CallFacts
    ) async -> Completed {
        let response = Response.empty(client.updateStatus(of: handle.service))
        guard outcome.result == .accepted else {
            if let attempt = outcome.attempt, outcome.isInDoubt || attempt.undo != .nothing {
                facts.registration = attempt.id
                _ = await write(outcome.isInDoubt ? .unresolved(attempt.id) : .undone(attempt), claim, facts.call)
            }
            return Completed(outcome.result, response)
        }
        let known = claim.decision.updated
        // A plan reserves no id unless it registers under it.
        guard let id = outcome.reserved ?? known else {
            return Completed(.backendFailed, response)
        }
        facts.registration = id
        // The device presented the id from before the gateway was installed, and the backend returned the same id for
        // the device's handle.
        let adopted = known == nil && !outcome.usedAlternative && id == label
        switch await write(.registered(id, replacing: id == known ? nil : known), claim, facts.call) {
        case nil: return Completed(.ledgerFailed, response)
        case false: return Completed(.revoked, response)
        case true: return Completed(outcome.usedAlternative ? .healed : adopted ? .adopted : .accepted, response)
        }
    }

    /// - Parameter isProof: Whether an overwritten registration is known to be overwritten.
    private func completeDelete(
        _ outcome: ForwardResult, _ id: RegistrationID, _ claim: consuming LedgerClaim, _ call: CallID, isProof: Bool
    ) async -> Completed {
        guard outcome.result == .accepted else {
            // A request that was withdrawn before its first byte, with its caller's rights, changes nothing.
            if outcome.status == nil, outcome.result == .revoked || outcome.result == .ledgerUnavailable {
                return Completed(outcome.result, .empty(200))
            }
            // The registration is marked for deletion, whatever the backend did. `write` logs a failure.
            _ = await write(outcome.isInDoubt ? .deletionUnanswered(id) : .deleting(id), claim, call)
            return Completed(outcome.result, .empty(200))
        }
        // If `usedAlternative`, the gateway had the registration overwritten, because the backend would not delete it.
        // If a successful response does not prove the overwriting (see `confirmsUpdates`), the deletion is repeated.
        let isUnconfirmed = outcome.usedAlternative && !isProof
        let written = await write(isUnconfirmed ? .unconfirmed(id) : .deleted(id), claim, call)
        guard let isComplete = written else { return Completed(.ledgerFailed, .empty(200)) }
        if isUnconfirmed {
            guard isComplete else { return Completed(.deleteUnconfirmed, .empty(200)) }
            logger.warning(
                "Backend did not confirm a deletion within a day; deletion abandoned",
                metadata: ["call": "\(call)", "registration": "\(id)"])
        }
        return Completed(outcome.usedAlternative ? .neutralised : .accepted, .empty(200), isComplete: isComplete)
    }

    /// Writes the change to the ledger.
    ///
    /// - Returns: The result of `RegistrationLedger.finish`: for a create or an update, whether the registration stays;
    ///   for a deletion, whether it is complete. Nil if the ledger could not be written.
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
