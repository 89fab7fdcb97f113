internal import GatewayCore
internal import NIOCore

/// A call with an authenticated caller. Only the authenticate phase creates one.
struct AuthenticatedCall: ~Copyable {
    var facts: CallFacts
    let call: Call
    let caller: Identity
    /// The login name presented with a password, the name of a certificate's user, or the one proved by a token of an
    /// identity provider; nil for a token of this gateway.
    let login: LoginName?
    /// The revocation epoch, read before verification. A later revocation of the user may invalidate the credential.
    let epoch: RevocationEpoch

    fileprivate init(facts: CallFacts, call: Call, caller: Identity, login: LoginName?, epoch: RevocationEpoch) {
        self.facts = facts
        self.call = call
        self.caller = caller
        self.login = login
        self.epoch = epoch
    }
}

/// The authenticate phase: determines the caller. Suspends if an authenticator does.
struct Authentication: Sendable {
    let credentialVerifier: CredentialVerifier
    let sessions: any SessionStore

    private var names: NameRules { credentialVerifier.names }

    @inline(never)
    /// Verifies the presented credential. Throws if it is missing or invalid, or cannot be verified now.
    func authenticate(_ parsed: consuming ParsedCall) async throws(Rejection) -> AuthenticatedCall {
        let epoch = sessions.epoch
        do throws(Rejection) {
            try requireCurrentSessions()
            let presented = try presented(&parsed)
            let verification = try await credentialVerifier.verify(
                presented.credential, from: parsed.facts.peer, parsed.clientDisconnect)
            return try authenticated(&parsed, verification, presented, epoch)
        } catch {
            throw error.with(parsed.facts)
        }
    }

    /// Verifies a user name and a password that did not arrive in a call, such as those of a form.
    ///
    /// - Parameter facts: The facts for the record of a failed login.
    func authenticate(
        user: String, password: some Collection<UInt8> & Sendable, _ facts: CallFacts
    ) async throws(Rejection) -> VerifiedLogin {
        var facts = facts
        let epoch = sessions.epoch
        do throws(Rejection) {
            try requireCurrentSessions()
            let presented: PresentedCredential
            do throws(Rejection) {
                presented = try PresentedCredential(user: user, password: password, names)
            } catch {
                // A malformed credential is charged like a wrong one.
                _ = try credentialVerifier.limiter.admitLogin(from: facts.peer)
                throw error
            }
            facts.attempted = presented.name
            let verification = try await credentialVerifier.verify(presented.credential, from: facts.peer)
            if !verification.outcome.isAcceptance { facts.authenticator = verification.authenticator }
            let identity = try checked(verification.outcome, of: presented.name)
            return VerifiedLogin(
                identity: identity,
                login: presented.login(of: identity.user, by: names) ?? names.login(of: identity.user), epoch: epoch)
        } catch {
            throw error.with(facts)
        }
    }

    /// Verifies a login through a browser at an identity provider.
    ///
    /// - Parameters:
    ///   - epoch: The revocation epoch at the beginning of the login.
    ///   - facts: The facts for the record of a failed login.
    func authenticate(
        _ response: BrowserLoginResponse, since epoch: RevocationEpoch, _ facts: CallFacts
    ) async throws(Rejection) -> VerifiedLogin {
        var facts = facts
        do throws(Rejection) {
            try requireCurrentSessions()
            let verification = try await credentialVerifier.verify(response, from: facts.peer)
            if !verification.outcome.isAcceptance { facts.authenticator = verification.authenticator }
            let identity = withCurrentGroups(try checked(verification.outcome, of: nil))
            return VerifiedLogin(
                identity: identity, login: identity.token?.provider?.login ?? names.login(of: identity.user),
                epoch: epoch)
        } catch {
            throw error.with(facts)
        }
    }

    /// Rejects the call if the gateway does not know which credentials were revoked.
    private func requireCurrentSessions() throws(Rejection) {
        guard sessions.isCurrent else { throw .unconfirmedSessions }
    }

    @inline(never)
    private func presented(_ parsed: inout ParsedCall) throws(Rejection) -> PresentedCredential {
        guard case .single(let field) = parsed.authorization else { return try presentedCertificate(parsed) }
        try requireProtectedConnection(parsed)
        let presented = try parseCredential(field, from: parsed.facts.peer)
        if let name = presented.name { parsed.facts.attempted = name }
        return presented
    }

    /// Returns the client certificate of a call without `Authorization`.
    private func presentedCertificate(_ parsed: borrowing ParsedCall) throws(Rejection) -> PresentedCredential {
        guard let result = parsed.certificate, credentialVerifier.chain.acceptsCertificates else {
            throw Rejection(.credentialsMissing, "no Authorization")
        }
        try requireProtectedConnection(parsed)
        switch result {
        case .verified(let certificate):
            return PresentedCredential(certificate)
        case .invalid(let reason):
            // An invalid certificate is charged like a wrong token.
            _ = try credentialVerifier.limiter.admitLogin(from: parsed.facts.peer)
            throw Rejection(.credentialsRejected, "client certificate: \(reason.rawValue)")
        case .unverifiable:
            throw Rejection(
                .authenticatorUnavailable,
                "the client certificate cannot be verified; a revocation list may be out of date",
                extra: .retryAfter(seconds: 5))
        }
    }

    private func requireProtectedConnection(_ parsed: borrowing ParsedCall) throws(Rejection) {
        // The credential is not verified: an eavesdropper has it already, and the response would confirm it.
        guard parsed.allowsCredentials else {
            throw Rejection(
                .insecureTransport, "a credential was sent over a plaintext connection",
                hint: "Credentials are accepted over TLS only.")
        }
    }

    @inline(never)
    private func authenticated(
        _ parsed: inout ParsedCall, _ verification: VerificationResult, _ presented: PresentedCredential,
        _ epoch: RevocationEpoch
    ) throws(Rejection) -> AuthenticatedCall {
        // Needed for the record of a failed login.
        if !verification.outcome.isAcceptance {
            parsed.facts.authenticator = verification.authenticator
            if let user = credentialVerifier.chain.user(ofRejected: presented.credential, verification) {
                parsed.facts.attempted = user
            }
        }
        let caller = withCurrentGroups(try checked(verification.outcome, of: presented.name))
        parsed.facts.establish {
            $0.user = caller.user
            $0.authenticator = caller.authenticator
            $0.attempted = nil
        }
        return AuthenticatedCall(
            facts: parsed.facts, call: parsed.call, caller: caller,
            login: presented.login(of: caller.user, by: names) ?? caller.token?.provider?.login, epoch: epoch)
    }

    /// Removes groups that a token lists and that its account has lost since. Reads from memory; most tokens list no
    /// groups.
    private func withCurrentGroups(_ caller: Identity) -> Identity {
        guard let token = caller.token, !caller.groups.isEmpty,
            let groups = sessions.groups(behind: token, of: caller.user)
        else { return caller }
        return caller.limited(to: groups)
    }

    /// Creates a call as if the caller had just logged in. Used by the dry run, which cannot forward calls.
    static func assume(
        _ caller: Identity, login: LoginName, epoch: RevocationEpoch, making parsed: consuming ParsedCall
    ) -> AuthenticatedCall {
        var facts = parsed.facts
        facts.user = caller.user
        facts.authenticator = caller.authenticator
        return AuthenticatedCall(facts: facts, call: parsed.call, caller: caller, login: login, epoch: epoch)
    }

    private func parseCredential(_ field: ByteBuffer, from peer: Peer) throws(Rejection) -> PresentedCredential {
        do throws(Rejection) {
            return try PresentedCredential(field, names: names)
        } catch {
            // A malformed credential is charged like a wrong one.
            _ = try credentialVerifier.limiter.admitLogin(from: peer)
            throw error
        }
    }

    private func checked(_ outcome: AuthenticationOutcome, of name: PresentedName?) throws(Rejection) -> Identity {
        switch outcome {
        case .accepted(let identity):
            return identity
        case .notMine:
            throw Rejection(.credentialsRejected, InvalidCredentialReason.wrong.rawValue)
        case .rejected(.unmapped):
            // For tokens, and if the authenticator has another name for the user, only the authenticator knows the
            // name.
            let reason = name.flatMap { names.reasonUnmapped(names.login($0)) }
            throw Rejection(.identityUnmapped, reason?.description ?? "the user's name has no canonical form")
        case .rejected(let reason):
            throw Rejection(.credentialsRejected, reason.rawValue)
        case .unavailable(.busy):
            throw Rejection(
                .overloaded, "too many credentials are waiting for verification", extra: .retryAfter(seconds: 1))
        case .unavailable(let reason):
            throw Rejection(.authenticatorUnavailable, reason.rawValue, extra: .retryAfter(seconds: 5))
        }
    }
}

/// The time limits of credential verification, the delay of failed logins, and the lifetimes of sessions and devices
/// whose account status cannot be queried.
public struct AuthenticationRules: Sendable, Hashable {
    /// The maximum time for all authenticators together to verify one credential, including waiting.
    public var deadline: Duration
    /// The minimum time between the arrival of a wrong password and its rejection.
    public var failedLoginDelay: Duration
    /// The maximum of the random time that is added to `failedLoginDelay`.
    public var failedLoginJitter: Duration
    /// The maximum number of rejections that are delayed at the same time. A further failed login is rejected at once
    /// as `rate-limited`.
    public var maximumDelayedRejections: Int

    /// The most sessions of a user, at least 1. A further one ends the one that was renewed longest ago.
    public var sessionsPerUser: Int
    /// The lifetime of a session whose account status cannot be queried, counted from its login.
    public var sessionLifetimeWithoutStatus: Duration
    /// How long a registration is kept after its device last registered, if the status of its owner's account cannot be
    /// queried.
    public var deviceLifetimeWithoutStatus: Duration

    /// Creates rules.
    public init(
        deadline: Duration = .seconds(10), failedLoginDelay: Duration = .milliseconds(300),
        failedLoginJitter: Duration = .milliseconds(85), maximumDelayedRejections: Int = 1024,
        sessionsPerUser: Int = 20,
        sessionLifetimeWithoutStatus: Duration = .seconds(86_400),
        deviceLifetimeWithoutStatus: Duration = .seconds(30 * 86_400)
    ) {
        self.deadline = deadline
        self.failedLoginDelay = failedLoginDelay
        self.failedLoginJitter = failedLoginJitter
        self.maximumDelayedRejections = maximumDelayedRejections
        self.sessionsPerUser = sessionsPerUser
        self.sessionLifetimeWithoutStatus = sessionLifetimeWithoutStatus
        self.deviceLifetimeWithoutStatus = deviceLifetimeWithoutStatus
    }
}
