internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

extension OIDCAuthenticator: InspectingAuthenticator {
    func user(ofRejected token: Secret) -> UserName? { keys.current().verifier.user(of: token) }

    /// Decodes and verifies a token. For an unknown key, reads the provider's keys if `authenticate` would.
    func inspect(_ token: Secret) async -> TokenInspection? {
        let now = context.clocks.wall()
        guard let (outcome, current) = await keys.verify({ $0.verify(token, at: now) }) else {
            let detail = "too many tokens wait for a reading of the provider's keys"
            return TokenInspection(result: .undecided(.busy, detail: detail))
        }
        var unknownKey = TokenInspection.Result.invalid(.untrusted, detail: TokenFault.unknownKeyDetail)
        if case .unknownKey(let issued) = outcome,
            case .unavailable(let reason) = current.outcome(ofTokenIssued: issued)
        {
            let detail =
                current.read.map { "the provider's keys of \($0) have no key for it, and newer ones could not be read" }
                ?? "the provider's keys could not be read"
            unknownKey = .undecided(reason, detail: detail)
        }
        return outcome.inspection(of: token, keys.rules.settings, context, unknownKey: unknownKey)
    }
}

extension OIDCFileAuthenticator: InspectingAuthenticator {
    func user(ofRejected token: Secret) -> UserName? { verifier.withLock { $0 }.user(of: token) }

    func inspect(_ token: Secret) async -> TokenInspection? {
        let outcome = verifier.withLock { $0 }.verify(token, at: context.clocks.wall())
        return outcome.inspection(
            of: token, rules.settings, context,
            unknownKey: .invalid(.untrusted, detail: TokenFault.unknownKeyDetail))
    }
}

extension TokenVerifier.Outcome {
    /// Returns the content of the token with this outcome; nil if the token belongs to another authenticator.
    fileprivate func inspection(
        of token: Secret, _ settings: OIDCPlugin.Settings, _ context: PluginContext,
        unknownKey: TokenInspection.Result
    ) -> TokenInspection? {
        let signed = token.withBytes { SignedToken($0) }
        let result: TokenInspection.Result
        switch self {
        case .accepted(let identity): result = .valid(identity)
        case .rejected(.libcrypto): result = .undecided(.failed, detail: TokenFault.libcrypto.detail(settings))
        case .rejected(let fault): result = .invalid(fault.reason, detail: fault.detail(settings))
        case .foreign(let reason):
            guard context.isLastOfItsKind else { return nil }
            let detail =
                signed == nil
                ? "it is not three parts of base64url between two dots, of at most \(SignedToken.maximumLength) bytes, "
                    + "of which the first two are JSON objects"
                : "iss is not \"\(settings.issuer)\""
            result = .invalid(reason, detail: detail)
        case .unknownKey: result = unknownKey
        }
        return TokenInspection(header: signed?.header, claims: signed?.claims, result: result)
    }
}

extension TokenFault {
    fileprivate static let unknownKeyDetail = "the provider has no key for its kid and alg"

    /// The fault as a clause for an operator.
    ///
    /// - Parameter client: The client of an ID token, which is its audience; nil for another token.
    func detail(_ settings: OIDCPlugin.Settings, client: String? = nil) -> String {
        switch self {
        case .algorithm:
            "alg is not one of \(settings.algorithms.map(\.rawValue).sorted().joined(separator: ", "))"
        case .forbiddenParameter: "its header has crit, b64, zip, enc or cty"
        case .type: "it is another kind of token, by typ or by the claim events"
        case .keyID: "kid is not text of a usable length"
        case .ambiguousKey: "several keys of the provider fit it, and it has no kid"
        case .signature: "the provider's key did not sign it"
        case .libcrypto: "the system's libcrypto failed"
        case .claim(let name): "the claim \(name) is missing, or of the wrong type or length"
        case .audience: "aud does not contain \"\(client ?? settings.audience)\""
        case .nonce: "nonce is not that of the login"
        case .authenticationTime: "auth_time is missing, or older than the login"
        case .authorizedParty where client != nil: "azp is not \"\(client ?? "")\""
        case .authorizedParty:
            "azp, or client_id, is not one of \(settings.clients.sorted().joined(separator: ", "))"
        case .scope: "scope does not contain \(settings.scopes.sorted().joined(separator: " "))"
        case .boundToClient: "it is bound to a key of its client (cnf), which a bearer token does not prove"
        case .unverifiedEmail: "email_verified is not true"
        case .lifetime:
            "exp is not after iat, or more than \(OIDCPlugin.maximumLifetime.components.seconds / 86_400) days after it"
        case .expired: "it has expired"
        case .notYetValid: "iat or nbf is in the future"
        case .unmapped: "\(settings.userClaim) is not a user name by the rules of identity"
        }
    }
}
