internal import GatewayCore
internal import Logging

/// The verification of credentials: queries the authenticators within a deadline; for passwords, uses a cache and a
/// throttle.
struct Judging: Sendable {
    let chain: AuthenticatorChain
    let names: NameRules
    let rules: AuthenticationRules
    let limiter: Limiter
    let throttle: LoginThrottle
    let verdicts: VerdictCache
    let floor: RefusalFloor
    let clocks: Clocks
    let loops: any CallLoops
    let logger: Logger

    /// Verifies a credential. Only a credential that authenticators are queried about is charged to limits, and the
    /// charge is refunded if the credential is valid or cannot be verified.
    ///
    /// - Parameter departure: The disconnect signal of the client, which cancels the verification.
    func judge(
        _ credential: Credential, from peer: Peer, _ departure: ClientDeparture? = nil
    ) async throws(Refusal) -> Judgement {
        switch credential {
        case .bearer:
            return try await judge(token: credential, from: peer, departure)
        case .password(let login, let password):
            let arrival = clocks.monotonic()
            let judgement = try await judge(login, password, credential, from: peer, departure)
            if judgement.outcome.isRefusal { try await floor.wait(since: arrival, unless: departure) }
            return judgement
        }
    }

    private func judge(
        token credential: Credential, from peer: Peer, _ departure: ClientDeparture?
    ) async throws(Refusal) -> Judgement {
        let ticket = try limiter.admitLogin(from: peer)
        // The synchronous path avoids a task and a pending verification, which cost more than checking a token.
        if let judgement = judgeAtOnce(token: credential, from: peer, ticket) { return judgement }
        return try await query(about: credential, from: peer, ticket, departure)
    }

    @inline(never)
    private func judgeAtOnce(
        token credential: Credential, from peer: Peer, _ ticket: Limiter.LoginTicket
    ) -> Judgement? {
        guard let judgement = chain.verdictAtOnce(on: credential, from: peer, logger: logger) else { return nil }
        if !judgement.outcome.isRefusal { limiter.giveBack(ticket) }
        return judgement
    }

    @inline(never)
    private func query(
        about credential: Credential, from peer: Peer, _ ticket: Limiter.LoginTicket, _ departure: ClientDeparture?
    ) async throws(Refusal) -> Judgement {
        let question = Question()
        question.start(
            on: loops, within: rules.deadline,
            { [chain, logger] in
                await chain.authenticate(credential, of: nil, by: chain.tokenPanel, from: peer, logger: logger)
            },
            settled: { [limiter] judgement in
                if let judgement, !judgement.outcome.isRefusal { limiter.giveBack(ticket) }
            })
        // A token's verification is never withdrawn, so nil means that the client has disconnected.
        if let judgement = await question.answer(unless: departure) { return judgement }
        try departure.check()
        return .unavailable(.failed)
    }

    @inline(never)
    private func judge(
        _ login: LoginName, _ password: Secret, _ credential: Credential, from peer: Peer,
        _ departure: ClientDeparture?
    ) async throws(Refusal) -> Judgement {
        let user = names.canonical(login.text)
        let panel = chain.passwordPanel(of: user)
        while true {
            try departure.check()
            switch verdicts.find(login, password, of: user, by: panel, from: peer) {
            case .remembered(.accepted(let identity)):
                // If results depend on the address, a cached one implies an earlier login from this address.
                if !panel.dependsOnPeer { throttle.succeeded(identity.user, from: peer) }
                panel.noteSpared(identity.authenticator)
                return Judgement(outcome: .accepted(identity), judge: identity.authenticator)
            case .remembered(.rejected(let reason, let judge)):
                panel.noteSpared(judge)
                return Judgement(outcome: .rejected(reason), judge: judge)
            case .underWay(let question):
                // Nil means that the call that should have started the verification was rejected; try again with this
                // call.
                if let judgement = await question.answer(unless: departure) {
                    panel.noteSpared(judgement.judge)
                    return judgement
                }
            case .unknown(let question, let key):
                try startVerification(question, key, credential, of: user, to: panel, from: peer)
                if let judgement = await question.answer(unless: departure) { return judgement }
            }
        }
    }

    /// Starts the verification of a password and charges the caller for it.
    private func startVerification(
        _ question: Question, _ key: VerdictKey?, _ credential: Credential, of user: UserName?,
        to panel: AuthenticatorChain.Panel, from peer: Peer
    ) throws(Refusal) {
        let charge: LoginThrottle.Charge
        let ticket: Limiter.LoginTicket?
        do throws(Refusal) {
            charge = try throttle.admit(user, from: peer)
            ticket = try ticketOfStranger(charge, from: peer)
        } catch {
            verdicts.complete(question, key, nil)
            question.withdraw()
            throw error
        }
        question.start(
            on: loops, within: rules.deadline,
            { [chain, logger] in
                await chain.authenticate(credential, of: user, by: panel, from: peer, logger: logger)
            },
            settled: { [limiter, throttle, verdicts] judgement in
                let outcome = judgement?.outcome
                switch outcome {
                case .accepted: throttle.succeeded(charge)
                case .unavailable: throttle.giveBack(charge)
                // A client that disconnects early has caused the work nevertheless, so the charge stays.
                case .rejected, .notMine, nil: break
                }
                if let outcome, !outcome.isRefusal, let ticket { limiter.giveBack(ticket) }
                verdicts.complete(question, key, judgement)
            })
    }

    // A user known at this address pays only for itself, whatever others at that address have spent.
    private func ticketOfStranger(
        _ charge: LoginThrottle.Charge, from peer: Peer
    ) throws(Refusal) -> Limiter.LoginTicket? {
        if charge.isOfKnownPair { return nil }
        do throws(Refusal) {
            return try limiter.admitLogin(from: peer)
        } catch {
            throttle.giveBack(charge)
            throw error
        }
    }
}

extension AuthenticationOutcome {
    /// Whether the credential is invalid. An outage is not a rejection.
    var isRefusal: Bool {
        switch self {
        case .accepted, .unavailable: false
        case .notMine, .rejected: true
        }
    }
}
