public import GatewayCore
internal import Logging

extension AuthenticatorChain {
    /// One configured authenticator. A class, so that iterating over the links on each call retains one reference
    /// instead of copying all fields.
    public final class Link: Sendable {
        /// The plug-in's name.
        public let name: PluginName
        /// The kinds of credential that it accepts.
        public let credentialKinds: Set<CredentialKind>
        /// The users and groups that it may accept.
        public let scope: AuthenticatorScope
        /// Whether its result may depend on the peer's address.
        public let outcomeDependsOnPeer: Bool
        /// The authenticator.
        public let authenticator: any Authenticator
        /// The metrics that count its results; nil for none.
        public let metrics: AuthenticatorMetrics?

        /// Creates a link.
        public init(
            name: PluginName, credentialKinds: Set<CredentialKind>, scope: AuthenticatorScope = AuthenticatorScope(),
            outcomeDependsOnPeer: Bool = true, authenticator: any Authenticator,
            metrics: AuthenticatorMetrics? = nil
        ) {
            self.name = name
            self.credentialKinds = credentialKinds
            self.scope = scope
            self.outcomeDependsOnPeer = outcomeDependsOnPeer
            self.authenticator = authenticator
            self.metrics = metrics
        }
    }
}

extension AuthenticatorChain.Link {
    /// Returns whether the authenticator may verify a password for the login name.
    ///
    /// An account list rejects two accounts whose names fold to the same user. Any other authenticator may have both,
    /// so it is not asked about a login name that folding changes in more than letter case.
    func mayVerify(_ login: LoginName) -> Bool {
        authenticator is any AccountList || NameRules.isUnambiguous(login)
    }

    /// Checks an accepted identity. Rejects it if it is outside the scope of the authenticator or, for a password, if
    /// its user is not the one that the login name stands for.
    ///
    /// - Parameter user: The user of the login name; nil for a token, and for a login name without canonical form, for
    ///   which a password is always rejected.
    func checked(
        _ identity: Identity, _ kind: CredentialKind, of user: UserName?, _ logger: Logger
    ) -> AuthenticationOutcome {
        if kind == .password, identity.user != user {
            logger.error(
                "Authenticator returned a user other than the one who logged in",
                metadata: [
                    "authenticator": "\(name)", "expected": "\(user?.text ?? "-")", "accepted": "\(identity.user)",
                ])
            return .rejected(user == nil ? .unmapped : .wrong)
        }
        guard scope.contains(identity) else {
            logger.warning(
                "Authenticator accepted a user outside its scope",
                metadata: ["authenticator": "\(name)", "user": "\(identity.user)"])
            return .rejected(.untrusted)
        }
        return .accepted(identity)
    }
}
