internal import GatewayCore

/// All that will be asked of the backend for one call, decided before anything is. Only rewriting makes one.
struct UpstreamPlan: ~Copyable {
    let facts: CallFacts
    let caller: Identity
    let steps: [PlannedStep]
    let purpose: Purpose
    /// Whom the steps send to, where they are the sends to an audience.
    let audience: AudiencePlan?
    /// The send's place among those with a key.
    let claim: SendClaim?

    /// What the plan is for: how its end is settled.
    enum Purpose: ~Copyable {
        case create(handle: DeviceHandle?, LedgerClaim)
        case update(PlannedUpdate)
        case delete(RegistrationID, LedgerClaim)
        case send

        /// Whether somebody is notified, and no registration changed.
        var isSend: Bool {
            // One pattern a case: the compiler takes no more for a value that cannot be copied.
            switch self {
            case .send: true
            case .create: false
            case .update: false
            case .delete: false
            }
        }
    }

    /// What a device is registered by. A type of its own: a claim among several values of a case cannot be borrowed.
    struct PlannedUpdate: ~Copyable {
        let label: RegistrationID
        let handle: DeviceHandle
        let claim: LedgerClaim
    }

    fileprivate init(
        facts: CallFacts, caller: Identity, steps: [PlannedStep], purpose: consuming Purpose,
        audience: AudiencePlan? = nil, claim: SendClaim? = nil
    ) {
        self.audience = audience
        self.claim = claim
        self.facts = facts
        self.caller = caller
        self.steps = steps
        self.purpose = purpose
    }
}

/// An admitted call that the backend need not be asked about, or one that it must.
enum RewrittenCall: ~Copyable {
    case upstream(UpstreamPlan)
    case own(OwnPlan)
}

/// What the gateway is about to do itself. Only rewriting makes one.
struct OwnPlan: ~Copyable {
    let facts: CallFacts
    let caller: Identity
    let call: PermittedOwnCall

    fileprivate init(facts: CallFacts, caller: Identity, call: PermittedOwnCall) {
        self.facts = facts
        self.caller = caller
        self.call = call
    }
}

/// The fifth phase: the call becomes the gateway's own requests. Pure and synchronous.
struct Rewriting: Sendable {
    /// How many bytes the backend's payload has beside user and message, by the services' places.
    let payloadFrames: [Int]
    let digester: KeyedDigester
    let randomness: @Sendable () -> UInt64

    @inline(never)
    func rewrite(_ admitted: consuming AdmittedCall) throws(Refusal) -> RewrittenCall {
        // A send with a key has it already.
        if admitted.facts.digest == nil, let text = admitted.permitted.text {
            do throws(Refusal) {
                admitted.facts.digest = try digest(of: text)
            } catch {
                throw error.with(admitted.facts)
            }
        }
        let facts = admitted.facts
        let caller = admitted.caller
        // Only a send to an audience has any.
        let members = admitted.members ?? AdmittedMembers()
        let sendClaim = admitted.claim
        switch consume admitted.permitted {
        case .own(let call):
            return .own(OwnPlan(facts: facts, caller: caller, call: call))
        case .create(let handle, let claim):
            let asked = claim.decision == .askWithHandle ? handle : nil
            let steps = [PlannedStep(step: .reserve(handle: asked))]
            return .upstream(
                UpstreamPlan(facts: facts, caller: caller, steps: steps, purpose: .create(handle: asked, claim)))
        case .update(let label, let handle, let tags, let claim):
            let registration = UpstreamRegistration(owner: caller.user, handle: handle, tags: tags)
            let steps = Self.steps(for: claim.decision, registration)
            return .upstream(
                UpstreamPlan(
                    facts: facts, caller: caller, steps: steps,
                    purpose: .update(UpstreamPlan.PlannedUpdate(label: label, handle: handle, claim: claim))))
        case .delete(let id, let claim):
            // Where the backend will not delete, nobody must be reachable under the registration any more.
            let step = PlannedStep(
                step: .delete(id, owner: caller.user), ifGone: [.upsert(.known(id), nobody())])
            return .upstream(
                UpstreamPlan(facts: facts, caller: caller, steps: [step], purpose: .delete(id, claim)))
        case .send(let send):
            let step: UpstreamStep
            do throws(Refusal) {
                let text = try payloadText(send.text, send.service, from: caller.user)
                step = .send(
                    UpstreamSend(sender: caller.user, recipient: send.recipient, service: send.service, text: text))
            } catch {
                throw error.with(facts)
            }
            return .upstream(
                UpstreamPlan(
                    facts: facts, caller: caller, steps: [PlannedStep(step: step)], purpose: .send,
                    claim: sendClaim))
        case .sendToAudience(let send, _):
            let audience = AudiencePlan(members)
            let text: [UInt8]
            do throws(Refusal) {
                text = try payloadText(send.text, send.service, from: caller.user)
            } catch {
                throw error.with(facts)
            }
            let steps = audience.members.map { member in
                PlannedStep(
                    step: .send(
                        UpstreamSend(sender: caller.user, recipient: member, service: send.service, text: text)))
            }
            return .upstream(
                UpstreamPlan(
                    facts: facts, caller: caller, steps: steps, purpose: .send, audience: audience, claim: sendClaim))
        }
    }

    private static func steps(for decision: LedgerDecision, _ registration: UpstreamRegistration) -> [PlannedStep] {
        let anew: [UpstreamStep] = [.reserve(handle: registration.handle), .upsert(.reserved, registration)]
        switch decision {
        case .own(let id), .handOver(let id, _), .rotation(let id):
            return [PlannedStep(step: .upsert(.known(id), registration), ifGone: anew)]
        case .unplaced, .askWithHandle, .askWithoutHandle, .tooManyHandOvers, .owned, .notOwned, .doomed, .spared:
            // The backend keeps the id that it has for the handle, so that a device from before the gateway keeps its own.
            let fresh: [UpstreamStep] = [.reserve(handle: nil), .upsert(.reserved, registration)]
            return [
                PlannedStep(step: .reserve(handle: registration.handle)),
                PlannedStep(step: .upsert(.reserved, registration), ifGone: fresh),
            ]
        }
    }

    private func digest(of text: String) throws(Refusal) -> KeyedDigest {
        guard let digest = digester.digest(ofText: text) else {
            throw Refusal(.internalError, "the message's digest cannot be made")
        }
        return digest
    }

    /// The text, escaped for a payload that the service takes.
    private func payloadText(
        _ text: String, _ service: PushService, from sender: UserName
    ) throws(Refusal) -> [UInt8] {
        let text = try PayloadText(text, for: service)
        let length = text.payloadLength(from: sender, frame: payloadFrames[service.place])
        guard length <= service.payloadLimit else {
            throw Refusal(
                .payloadTooLarge, "the payload would have \(length) bytes",
                hint: "The message is longer than the push service takes.")
        }
        return text.escaped
    }

    /// A registration that reaches nobody: a name that no identity has, and a handle that no device has.
    private func nobody() -> UpstreamRegistration {
        let random = (0..<4).map { _ in String(hexEncoding: withUnsafeBytes(of: randomness(), Array.init)) }.joined()
        return UpstreamRegistration(owner: .nobody(random), handle: .nobody(random), tags: [])
    }
}
