public import GatewayCore
internal import GatewaySupport

extension Authenticator {
    /// Verifies a name, normalised to a login name as the gateway does it, and a password of any bytes.
    public func login(
        _ user: String, _ password: some Sequence<UInt8>, from peer: Peer = .documentation,
        names: NameRules = NameRules()
    ) async -> AuthenticationOutcome {
        let credential = Credential.password(user: names.login(PresentedName(user)), password: Secret(password))
        return await authenticate(credential, from: peer)
    }

    /// Verifies a name and a password.
    public func login(
        _ user: String, _ password: String, from peer: Peer = .documentation, names: NameRules = NameRules()
    ) async -> AuthenticationOutcome {
        await login(user, password.utf8, from: peer, names: names)
    }

    /// Verifies a bearer token and returns the outcome without the token's reference.
    public func present(_ token: String, from peer: Peer = .documentation) async -> AuthenticationOutcome {
        await presentWithReference(token, from: peer).outcome
    }

    /// Verifies a bearer token and returns the outcome and the token's reference separately.
    public func presentWithReference(
        _ token: String, from peer: Peer = .documentation
    ) async -> (outcome: AuthenticationOutcome, token: TokenReference?) {
        let outcome = await authenticate(.bearer(token: Secret(token.utf8)), from: peer)
        guard case .accepted(let identity) = outcome else { return (outcome, nil) }
        let bare = Identity(user: identity.user, groups: identity.groups, authenticator: identity.authenticator)
        return (.accepted(bare), identity.token)
    }
}

extension AuthenticationOutcome {
    /// Whether the credential was accepted.
    public var isGrant: Bool { if case .accepted = self { true } else { false } }

    /// Returns an acceptance. Traps if a name is not a valid user or group name.
    public static func accepted(
        _ user: String, groups: [String] = [], by authenticator: PluginName
    ) -> AuthenticationOutcome {
        // Only tests call this, with literal names.
        let groups = groups.map { text in
            guard let group = GroupName(text) else { fatalError("\"\(text)\" is not a group name") }
            return group
        }
        guard let user = UserName(canonical: user) else { fatalError("\"\(user)\" is not a user name") }
        return .accepted(Identity(user: user, groups: Set(groups), authenticator: authenticator))
    }
}
