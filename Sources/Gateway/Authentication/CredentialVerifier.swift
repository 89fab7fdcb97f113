internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// The verification of credentials: queries the authenticators within a deadline; for passwords, uses a cache and a
/// throttle.
struct CredentialVerifier: Sendable {
    let chain: AuthenticatorChain
    let names: NameRules
    let rules: AuthenticationRules
    let limiter: Limiter
    let throttle: LoginThrottle
    let passwordCache: PasswordCache
    let failedLoginDelay: FailedLoginDelay
    let clocks: Clocks
    let scheduler: any CallScheduler
    let logger: Logger

    /// Verifies a credential. A credential is charged to limits only if authenticators are queried for it, and the
    /// charge is refunded if the credential is valid or cannot be verified.
    ///
    /// - Parameter clientDisconnect: The disconnect signal of the client. It ends the wait, and cancels the
    ///   verification if no other call waits for it.
    func verify(
        _ credential: Credential, from peer: Peer, _ clientDisconnect: ClientDisconnect? = nil
    ) async throws(Rejection) -> VerificationResult {
        switch credential {
        case .bearer, .certificate:
            return try await verify(nameless: credential, from: peer, clientDisconnect)
        case .password(let login, let password):
            let arrival = clocks.monotonic()
            let verification = try await verify(login, password, credential, from: peer, clientDisconnect)
            if verification.outcome.isRejection {
                try await failedLoginDelay.wait(since: arrival, unless: clientDisconnect)
            }
            return verification
        }
    }

    /// Completes a login through a browser, which is charged as a token is.
    func verify(_ response: BrowserLoginResponse, from peer: Peer) async throws(Rejection) -> VerificationResult {
        let loginCharge = try limiter.admitLogin(from: peer)
        let verification = await chain.completeBrowserLogin(response, logger: logger)
        if !verification.outcome.isRejection { limiter.refund(loginCharge) }
        return verification
    }

    /// Verifies a token or a certificate, whose user only an authenticator can tell.
    private func verify(
        nameless credential: Credential, from peer: Peer, _ clientDisconnect: ClientDisconnect?
    ) async throws(Rejection) -> VerificationResult {
        let loginCharge = try limiter.admitLogin(from: peer)
        // The synchronous path avoids a task and a pending verification, which cost more than checking a token.
        if let verification = verifyImmediately(credential, from: peer, loginCharge) { return verification }
        return try await query(about: credential, from: peer, loginCharge, clientDisconnect)
    }

    @inline(never)
    private func verifyImmediately(
        _ credential: Credential, from peer: Peer, _ loginCharge: Limiter.LoginCharge
    ) -> VerificationResult? {
        guard let verification = chain.immediateOutcome(on: credential, from: peer, logger: logger) else { return nil }
        if !verification.outcome.isRejection { limiter.refund(loginCharge) }
        return verification
    }

    @inline(never)
    private func query(
        about credential: Credential, from peer: Peer, _ loginCharge: Limiter.LoginCharge,
        _ clientDisconnect: ClientDisconnect?
    ) async throws(Rejection) -> VerificationResult {
        let pending = PendingVerification()
        pending.start(
            on: scheduler, within: rules.deadline,
            { [chain, logger] in
                await chain.authenticate(
                    credential, of: nil, by: chain.candidates(for: credential), from: peer, logger: logger)
            },
            completed: { [limiter] verification in
                if let verification, !verification.outcome.isRejection { limiter.refund(loginCharge) }
            })
        // A token's verification is never withdrawn, so nil means that the client has disconnected.
        if let verification = await pending.result(unless: clientDisconnect) { return verification }
        try clientDisconnect.check()
        return .unavailable(.failed)
    }

    @inline(never)
    private func verify(
        _ login: LoginName, _ password: Secret, _ credential: Credential, from peer: Peer,
        _ clientDisconnect: ClientDisconnect?
    ) async throws(Rejection) -> VerificationResult {
        let user = names.canonical(login)
        let candidates = chain.passwordCandidates(of: user)
        while true {
            try clientDisconnect.check()
            switch passwordCache.find(login, password, of: user, by: candidates, from: peer) {
            case .cached(.accepted(let identity)):
                try checkThrottles(user, from: peer)
                // If results depend on the address, a cached one implies an earlier login from this address.
                if !candidates.dependsOnPeer { throttle.recordSuccess(of: identity.user, from: peer) }
                candidates.recordCacheHit(identity.authenticator)
                return VerificationResult(outcome: .accepted(identity), authenticator: identity.authenticator)
            case .cached(.rejected(let reason, let authenticator)):
                // The cached rejection may come from an attempt at another address. Without this check, the caller
                // could learn for free that the password is wrong.
                if !candidates.dependsOnPeer { try checkThrottles(user, from: peer) }
                candidates.recordCacheHit(authenticator)
                return VerificationResult(outcome: .rejected(reason), authenticator: authenticator)
            case .inProgress(let pending):
                try checkThrottles(user, from: peer)
                // Nil means that the call that should have started the verification was rejected; try again with this
                // call.
                if let verification = await pending.result(unless: clientDisconnect) {
                    candidates.recordCacheHit(verification.authenticator)
                    return verification
                }
            case .unknown(let pending, let key):
                try startVerification(pending, key, credential, of: user, to: candidates, from: peer)
                if let verification = await pending.result(unless: clientDisconnect) { return verification }
            }
        }
    }

    /// Rejects a password whose verification the throttle or a limit would not admit now, so that a caller who has to
    /// wait does not learn from a cached or pending result whether a password is correct. A user with an earlier login
    /// from this address is not affected by the failed logins of others.
    private func checkThrottles(_ user: UserName?, from peer: Peer) throws(Rejection) {
        if try throttle.isKnownPairUnlessBlocked(user, from: peer) { return }
        limiter.refund(try limiter.admitLogin(from: peer))
    }

    /// Starts the verification of a password and charges the caller for it.
    private func startVerification(
        _ pending: PendingVerification, _ key: PasswordCacheKey?, _ credential: Credential, of user: UserName?,
        to candidates: AuthenticatorChain.Candidates, from peer: Peer
    ) throws(Rejection) {
        let charge: LoginThrottle.Charge
        let loginCharge: Limiter.LoginCharge?
        do throws(Rejection) {
            charge = try throttle.admit(user, from: peer)
            loginCharge = try addressChargeUnlessKnown(charge, from: peer)
        } catch {
            passwordCache.complete(pending, key, nil)
            pending.withdraw()
            throw error
        }
        pending.start(
            on: scheduler, within: rules.deadline,
            { [chain, logger] in
                await chain.authenticate(credential, of: user, by: candidates, from: peer, logger: logger)
            },
            completed: { [limiter, throttle, passwordCache] verification in
                let outcome = verification?.outcome
                switch outcome {
                case .accepted: throttle.recordSuccess(of: charge)
                case .unavailable: throttle.refund(charge)
                // A client that disconnects early has caused the work nevertheless, so the charge stays.
                case .rejected, .notMine, nil: break
                }
                if let outcome, !outcome.isRejection, let loginCharge { limiter.refund(loginCharge) }
                passwordCache.complete(pending, key, verification)
            })
    }

    // A user with an earlier login from this address is not charged to the limit of the address, which other users of
    // the address may have exhausted.
    private func addressChargeUnlessKnown(
        _ charge: LoginThrottle.Charge, from peer: Peer
    ) throws(Rejection) -> Limiter.LoginCharge? {
        if charge.isOfKnownPair { return nil }
        do throws(Rejection) {
            return try limiter.admitLogin(from: peer)
        } catch {
            throttle.refund(charge)
            throw error
        }
    }
}

extension AuthenticationOutcome {
    /// Whether the credential is invalid. An outage is not a rejection.
    var isRejection: Bool {
        switch self {
        case .accepted, .unavailable: false
        case .notMine, .rejected: true
        }
    }
}
