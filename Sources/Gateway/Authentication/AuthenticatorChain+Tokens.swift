public import GatewayCore
public import GatewaySupport

extension AuthenticatorChain {
    /// Returns the user of a rejected token for the record of the failed login, if its authenticator knows the user.
    func user(ofRejected credential: Credential, _ verification: VerificationResult) -> PresentedName? {
        guard case .bearer(let token) = credential, case .rejected(let reason) = verification.outcome,
            let authenticator = links.first(where: { $0.name == verification.authenticator })?.authenticator
                as? any InspectingAuthenticator
        else { return nil }
        switch reason {
        case .disabled, .expired, .notYetValid, .revoked:
            return authenticator.user(ofRejected: token).map { PresentedName($0.text) }
        // The signature is not valid, or there is no user.
        case .wrong, .malformed, .untrusted, .unmapped: return nil
        }
    }

    /// Returns what the authenticators say of a token, for commands.
    ///
    /// Queries them as for a call, up to the first one to which the token belongs, but charges no limit and counts
    /// nothing.
    public func lookUpToken(_ token: Secret, from peer: Peer) async -> TokenLookup {
        for link in links where link.credentialKinds.contains(.bearer) {
            let outcome = await link.authenticator.authenticate(.bearer(token: token), from: peer)
            guard let result = link.result(outcome) else { continue }
            let inspecting = link.authenticator as? any InspectingAuthenticator
            var inspection = await inspecting?.inspect(token) ?? TokenInspection(result: result)
            switch (result, inspection.result) {
            // The authenticator's own detail is more exact, but it knows neither revocations nor its scope.
            case (.invalid(let reason, _), .invalid(let detailed, _)) where reason == detailed: break
            case (.undecided, .undecided): break
            default: inspection.result = result
            }
            return TokenLookup(authenticator: link.name, inspection: inspection)
        }
        return TokenLookup(
            authenticator: nil,
            inspection: TokenInspection(result: .invalid(.wrong, detail: "it belongs to no configured authenticator")))
    }
}

extension AuthenticatorChain.Link {
    /// Returns the result of an outcome; nil if the token belongs to another authenticator.
    fileprivate func result(_ outcome: AuthenticationOutcome) -> TokenInspection.Result? {
        switch outcome {
        case .notMine: nil
        case .accepted(let identity) where scope.contains(identity): .valid(identity)
        case .accepted:
            .invalid(.untrusted, detail: "its user is outside the users and groups of \(name) in the configuration")
        case .rejected(.revoked): .invalid(.revoked, detail: "it was revoked, or its session was closed")
        case .rejected(let reason): .invalid(reason, detail: "\(name) rejected it as \(reason.rawValue)")
        case .unavailable(let reason): .undecided(reason, detail: "\(name) cannot verify it now (\(reason.rawValue))")
        }
    }
}
