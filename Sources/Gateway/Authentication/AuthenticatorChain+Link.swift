public import GatewayCore
internal import Logging

extension AuthenticatorChain {
    /// One configured authenticator. A class, because each call iterates over the links.
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
    /// Two accounts whose names fold to one user are an error in an account list. An authenticator without one may have
    /// both, so it does not receive a name that folding changes by more than letter case.
    func mayVerify(_ login: LoginName) -> Bool {
        authenticator is any AccountList || NameRules.isUnambiguous(login.text)
    }

    /// Checks an accepted identity: rejects it if its user differs from the presented one, or if it is outside the
    /// scope of the authenticator.
    func checked(
        _ identity: Identity, _ kind: CredentialKind, of user: UserName?, _ logger: Logger
    ) -> AuthenticationOutcome {
        if kind == .password, identity.user != user {
            logger.error(
                "Authenticator returned a different user than the login names",
                metadata: [
                    "authenticator": "\(name)", "presented": "\(user?.text ?? "-")", "accepted": "\(identity.user)",
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
