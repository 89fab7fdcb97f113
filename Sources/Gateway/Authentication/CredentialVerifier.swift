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
    let knownTokens: KnownTokens
    let failedLoginDelay: FailedLoginDelay
    let clocks: Clocks
    let scheduler: any CallScheduler
    let logger: Logger

    /// Verifies a credential.
    ///
    /// A token or certificate that an authenticator verifies at once is charged to the limits by address only if it is
    /// invalid, so that the failures of others at an address do not affect it. A credential that has to be passed on is
    /// charged before, and the charge is refunded if the credential is valid, or if nothing could verify it.
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

    /// Completes a login through a browser, which is charged as a token of a service is.
    func verify(_ response: BrowserLoginResponse, from peer: Peer) async throws(Rejection) -> VerificationResult {
        let loginCharge = try limiter.admitLogin(from: peer)
        let verification = await chain.completeBrowserLogin(response, logger: logger)
        if !verification.outcome.countsAsFailure { limiter.refund(loginCharge) }
        return verification
    }

    /// Verifies a token or a certificate, whose user only an authenticator can tell.
    private func verify(
        nameless credential: Credential, from peer: Peer, _ clientDisconnect: ClientDisconnect?
    ) async throws(Rejection) -> VerificationResult {
        // The synchronous path avoids a task and a pending verification, which cost more than checking a token.
        if let verification = chain.immediateOutcome(on: credential, from: peer, logger: logger) {
            return try charged(verification, from: peer)
        }
        guard chain.candidates(for: credential).queriesServiceForTokens else {
            return try charged(try await query(about: credential, from: peer, clientDisconnect), from: peer)
        }
        let key = KnownTokens.key(of: credential)
        // Nil for a token that was accepted before. Failed attempts of others at the address do not affect it.
        let charge = knownTokens.contains(key) ? nil : try limiter.admitLogin(from: peer)
        return try await query(about: credential, from: peer, clientDisconnect) { [limiter, knownTokens] outcome in
            if let charge, outcome?.countsAsFailure == false { limiter.refund(charge) }
            if let outcome { knownTokens.record(outcome, of: key) }
        }
    }

    /// Returns the result after it was charged to the address, if it counts as a failure.
    @inline(never)
    private func charged(
        _ verification: VerificationResult, from peer: Peer
    ) throws(Rejection) -> VerificationResult {
        if verification.outcome.countsAsFailure { _ = try limiter.admitLogin(from: peer) }
        return verification
    }

    @inline(never)
    private func query(
        about credential: Credential, from peer: Peer, _ clientDisconnect: ClientDisconnect?,
        completed: @escaping @Sendable (AuthenticationOutcome?) -> Void = { _ in }
    ) async throws(Rejection) -> VerificationResult {
        let pending = PendingVerification()
        pending.start(
            on: scheduler, within: rules.deadline,
            { [chain, logger] in
                await chain.authenticate(
                    credential, of: nil, by: chain.candidates(for: credential), from: peer, logger: logger)
            },
            completed: { completed($0?.outcome) })
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
            case .accepted(let identity):
                try checkThrottles(user, from: peer)
                // If results depend on the address, a cached one implies an earlier login from this address.
                if !candidates.dependsOnPeer { throttle.recordSuccess(of: identity.user, from: peer) }
                candidates.recordCacheHit(identity.authenticator)
                return VerificationResult(outcome: .accepted(identity), authenticator: identity.authenticator)
            case .rejected(let reason, let authenticator):
                // The cached rejection may come from an attempt at another address. Without this check, the caller
                // could learn for free that the password is wrong.
                if !candidates.dependsOnPeer { try checkThrottles(user, from: peer) }
                candidates.recordCacheHit(authenticator)
                return VerificationResult(outcome: .rejected(reason), authenticator: authenticator)
            case .inProgress(let pending):
                if pending.charge(of: peer.limitKey) == nil { try checkThrottles(user, from: peer) }
                // Nil means that the call that should have started the verification was rejected; try again with this
                // call.
                if let verification = await pending.result(unless: clientDisconnect) {
                    candidates.recordCacheHit(verification.authenticator)
                    return verification
                }
            case .unknown(let pending, let key):
                let charge = try charge(for: pending, key, of: user, from: peer)
                start(pending, key, charge, credential, of: user, to: candidates, from: peer)
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

    /// The charges of a password.
    private struct PasswordCharge {
        let throttle: LoginThrottle.Charge
        /// Nil if the address is not charged, because the user has logged in from there, or an earlier attempt was charged.
        var address: Limiter.LoginCharge?
        /// Whether the charge is that of an earlier attempt.
        var isEarlier = false
    }

    /// Charges the caller for the verification of a password. If the same password had no result at the last attempt from
    /// this address, that charge is used again, and later failures of others at the address do not affect it.
    private func charge(
        for pending: PendingVerification, _ key: PasswordCacheKey?, of user: UserName?, from peer: Peer
    ) throws(Rejection) -> PasswordCharge {
        do throws(Rejection) {
            if let paid = pending.charge(of: peer.limitKey) {
                return PasswordCharge(throttle: paid, isEarlier: true)
            }
            let charge = try throttle.admit(user, from: peer)
            return PasswordCharge(throttle: charge, address: try addressChargeUnlessKnown(charge, from: peer))
        } catch {
            passwordCache.complete(pending, key, nil)
            pending.withdraw()
            throw error
        }
    }

    /// Starts the verification of a password.
    private func start(
        _ pending: PendingVerification, _ key: PasswordCacheKey?, _ charge: PasswordCharge, _ credential: Credential,
        of user: UserName?, to candidates: AuthenticatorChain.Candidates, from peer: Peer
    ) {
        pending.start(
            on: scheduler, within: rules.deadline,
            { [chain, logger] in
                await chain.authenticate(credential, of: user, by: candidates, from: peer, logger: logger)
            },
            completed: { [limiter, throttle, passwordCache] verification in
                // A client that disconnects early has caused the work nevertheless, so the charge stays.
                if let outcome = verification?.outcome, !outcome.countsAsFailure {
                    if case .accepted = outcome {
                        throttle.recordSuccess(of: charge.throttle)
                        for other in pending.paid where other.address != charge.throttle.address {
                            throttle.refund(other)
                        }
                    } else if !charge.isEarlier {
                        throttle.refund(charge.throttle)
                    }
                    if let address = charge.address { limiter.refund(address) }
                }
                passwordCache.complete(pending, key, verification, charge.throttle)
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

    /// Whether the credential is valid.
    var isAcceptance: Bool {
        switch self {
        case .accepted: true
        case .unavailable, .notMine, .rejected: false
        }
    }

    /// Whether the attempt is charged: the credential is invalid, or it may have been verified without a result.
    var countsAsFailure: Bool {
        switch self {
        case .accepted: false
        case .unavailable(let reason): reason.mayHaveVerified
        case .notMine, .rejected: true
        }
    }
}
