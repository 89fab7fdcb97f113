internal import GatewayCore
internal import GatewaySupport

/// The backend requests of one call, all decided before the first one is sent. Only the rewrite phase creates one.
struct UpstreamPlan: ~Copyable {
    let facts: CallFacts
    let caller: PlannedCaller
    /// The upstream that all steps go to.
    let upstream: PlannedUpstream
    let steps: [PlannedStep]
    let purpose: Purpose
    /// The recipients of the steps, if the plan is a send to an audience.
    let audience: AudiencePlan?
    /// The idempotency claim of the send.
    let claim: IdempotencyClaim?
    /// The text of a secure send, which is stored before the first step; nil for any other plan.
    let secureText: SecureTextReservation?

    /// The purpose of the plan, which determines its completion.
    enum Purpose: ~Copyable {
        case registration(RegistrationChange)
        case send

        /// Whether a device registers.
        var isUpdate: Bool {
            switch self {
            case .registration(.update): true
            case .registration(.create): false
            case .registration(.delete): false
            case .send: false
            }
        }
    }

    /// A change of a registration, which is written to the ledger when the plan completes.
    enum RegistrationChange: ~Copyable {
        case create(handle: DeviceHandle?, LedgerClaim)
        case update(PlannedUpdate)
        case delete(RegistrationID, LedgerClaim)
    }

    /// The data of an update. A separate type, because the compiler cannot borrow one of several associated values of a
    /// noncopyable enum.
    struct PlannedUpdate: ~Copyable {
        let label: RegistrationID
        let handle: DeviceHandle
        let claim: LedgerClaim
    }

    fileprivate init(
        facts: CallFacts, caller: PlannedCaller, to upstream: PlannedUpstream, steps: [PlannedStep],
        purpose: consuming Purpose, audience: AudiencePlan? = nil, claim: IdempotencyClaim? = nil,
        secureText: SecureTextReservation? = nil
    ) {
        self.secureText = secureText
        self.audience = audience
        self.claim = claim
        self.facts = facts
        self.caller = caller
        self.upstream = upstream
        self.steps = steps
        self.purpose = purpose
    }
}

/// The result of the rewrite phase: a plan for the backend, or for one of the gateway's own endpoints.
enum RewrittenCall: ~Copyable {
    case upstream(UpstreamPlan)
    case local(LocalPlan)
}

/// A call to one of the gateway's own endpoints, ready to be recorded. Only the rewrite phase creates one.
struct LocalPlan: ~Copyable {
    let facts: CallFacts
    let caller: Identity
    let call: PermittedLocalCall

    fileprivate init(facts: CallFacts, caller: Identity, call: PermittedLocalCall) {
        self.facts = facts
        self.caller = caller
        self.call = call
    }
}

/// The rewrite phase: plans the gateway's own requests for a call. Pure and synchronous.
struct Rewriting: Sendable {
    let upstreams: UpstreamTable
    let digester: KeyedDigester
    let randomness: @Sendable () -> UInt64
    /// Reserves ids for secure sends; nil if there are none.
    let secure: SecureTextPlanner?

    @inline(never)
    /// Plans the requests. Throws if the payload is too long or cannot represent the text.
    func rewrite(_ admitted: consuming AdmittedCall) throws(Rejection) -> RewrittenCall {
        // A send with an idempotency key has its digest already.
        if admitted.facts.digest == nil, let text = admitted.permitted.text {
            guard let digest = digester.digest(ofMessage: text, from: admitted.caller.user) else {
                throw Rejection(.internalError, "the message digest could not be computed: libcrypto failed")
                    .with(admitted.facts)
            }
            admitted.facts.digest = digest
        }
        let facts = admitted.facts
        let identity = admitted.caller
        let caller = PlannedCaller(user: identity.user, revocation: admitted.revocation)
        // Only a send to an audience has members.
        let members = admitted.members ?? AudienceAdmission()
        let sendClaim = admitted.claim
        switch consume admitted.permitted {
        case .local(let call):
            return .local(LocalPlan(facts: facts, caller: identity, call: call))
        case .registration(let registration):
            return .upstream(plan(registration, facts, caller))
        case .send(let send):
            do throws(Rejection) {
                return .upstream(try plan(send, facts, caller, sendClaim))
            } catch {
                throw error.with(facts)
            }
        case .sendToAudience(let send, _):
            do throws(Rejection) {
                return .upstream(try plan(send, to: members, facts, caller, sendClaim))
            } catch {
                throw error.with(facts)
            }
        }
    }

    private func plan(
        _ send: RequestedSend, _ facts: CallFacts, _ caller: PlannedCaller, _ claim: IdempotencyClaim?
    ) throws(Rejection) -> UpstreamPlan {
        var facts = facts
        let upstream = upstreams[send.service]
        let content: [UInt8]
        var reservation: SecureTextReservation?
        if send.isSecure {
            let secure = try secureContent(
                send.text, for: [send.recipient], send.service, scheduled: facts.scheduled)
            guard let payload = secure.payloads.first else { throw .textsFull("the recipient's bounds are reached") }
            (content, reservation) = (payload, secure.reservation)
            facts.secureID = secure.ids.first
        } else {
            content = try upstream.codec.content(of: send.text, for: send.service, from: caller.user)
        }
        let step = UpstreamStep.send(
            UpstreamSend(
                sender: caller.user, recipient: send.recipient, service: send.service, content: content,
                time: facts.scheduled, isSecure: send.isSecure))
        return UpstreamPlan(
            facts: facts, caller: caller, to: upstream, steps: [PlannedStep(step: step)], purpose: .send,
            claim: claim, secureText: reservation)
    }

    private func plan(
        _ send: RequestedAudienceSend, to members: AudienceAdmission, _ facts: CallFacts, _ caller: PlannedCaller,
        _ claim: IdempotencyClaim?
    ) throws(Rejection) -> UpstreamPlan {
        func step(_ member: UserName, _ content: [UInt8]) -> PlannedStep {
            PlannedStep(
                step: .send(
                    UpstreamSend(
                        sender: caller.user, recipient: member, service: send.service, content: content,
                        time: facts.scheduled, isSecure: send.isSecure)))
        }
        let upstream = upstreams[send.service]
        guard send.isSecure else {
            let content = try upstream.codec.content(of: send.text, for: send.service, from: caller.user)
            let audience = AudiencePlan(members)
            return UpstreamPlan(
                facts: facts, caller: caller, to: upstream, steps: audience.members.map { step($0, content) },
                purpose: .send, audience: audience, claim: claim)
        }
        let secure = try secureContent(send.text, for: members.reached, send.service, scheduled: facts.scheduled)
        var members = members
        members.reached = secure.recipients
        members.skipped += secure.full.map { SkippedMember(user: $0, limit: SecureTextPlanner.limitName) }
        return UpstreamPlan(
            facts: facts, caller: caller, to: upstream, steps: zip(secure.recipients, secure.payloads).map(step),
            purpose: .send, audience: AudiencePlan(members, ids: secure.ids), claim: claim,
            secureText: secure.reservation)
    }

    private func plan(
        _ registration: consuming PermittedRegistration, _ facts: CallFacts, _ caller: PlannedCaller
    ) -> UpstreamPlan {
        let upstream: PlannedUpstream
        let steps: [PlannedStep]
        let change: UpstreamPlan.RegistrationChange
        switch consume registration {
        case .create(let handle, let claim):
            let queried = claim.decision == .queryWithHandle ? handle : nil
            upstream = upstreams.reserving(for: handle)
            // A caller whose device is registered gets the id of that registration. A backend that deletes the device's
            // other registrations is asked nevertheless.
            let isKnown = claim.registered != nil && upstream.codec.listsRegistrations
            steps = isKnown ? [] : [PlannedStep(step: .reserve(handle: queried))]
            change = .create(handle: queried, claim)
        case .update(let label, let handle, let tags, let claim):
            let registration = UpstreamRegistration(owner: caller.user, handle: handle, tags: tags)
            upstream = upstreams[handle.service]
            steps = Self.steps(for: claim, registration, at: upstream)
            change = .update(UpstreamPlan.PlannedUpdate(label: label, handle: handle, claim: claim))
        case .delete(let id, let claim):
            upstream = upstreams.upstream(of: claim.place)
            // If the backend does not delete the registration, it is overwritten so that it delivers to nobody.
            steps = [
                PlannedStep(
                    step: .delete(id, owner: caller.user), ifGone: [.upsert(.known(id), registrationOfNobody())])
            ]
            change = .delete(id, claim)
        }
        return UpstreamPlan(
            facts: facts, caller: caller, to: upstream, steps: steps, purpose: .registration(change))
    }

    /// Plans the deletion of a registration that is marked for deletion.
    func planSweep(_ deletion: consuming PendingDeletion) -> UpstreamPlan {
        let (facts, id) = (deletion.facts, deletion.id)
        let owner = PlannedCaller(user: deletion.owner, revocation: nil)
        return plan(.delete(owned: id, deletion.claim), facts, owner)
    }

    private static func steps(
        for claim: borrowing LedgerClaim, _ registration: UpstreamRegistration, at upstream: PlannedUpstream
    ) -> [PlannedStep] {
        // An id of another upstream is not used: only a look-up of the handle shows whether both reach the same hub. A
        // hub that lists is always asked, because others may have registered the device there.
        if let id = claim.decision.updated, !claim.isElsewhere, !upstream.codec.listsRegistrations {
            let anew: [UpstreamStep] = [.reserve(handle: registration.handle), .upsert(.reserved, registration)]
            return [PlannedStep(step: .upsert(.known(id), registration), ifGone: anew)]
        }
        // The backend returns the id that it already has for the handle, so that a device registered before the gateway
        // was installed keeps its id.
        let fresh: [UpstreamStep] = [.reserve(handle: nil), .upsert(.reserved, registration)]
        return [
            PlannedStep(step: .reserve(handle: registration.handle)),
            PlannedStep(step: .upsert(.reserved, registration), ifGone: fresh),
        ]
    }

    /// Returns a registration that delivers to nobody: a name that no user has, and a handle that no device has.
    private func registrationOfNobody() -> UpstreamRegistration {
        let random = (0..<4).map { _ in String(hexEncoding: withUnsafeBytes(of: randomness(), Array.init)) }.joined()
        return UpstreamRegistration(owner: .nobody(random), handle: .nobody(random), tags: [])
    }
}
