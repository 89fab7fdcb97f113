public import GatewayCore

extension Authenticator {
    /// What it says of a name, which is made a login name as the gateway makes it, and a password of any bytes.
    public func login(
        _ user: String, _ password: some Sequence<UInt8>, from peer: Peer = .documentation,
        names: NameRules = NameRules()
    ) async -> AuthenticationOutcome {
        let credential = Credential.password(user: names.login(PresentedName(user)), password: Secret(password))
        return await authenticate(credential, from: peer)
    }

    /// What it says of a name and a password.
    public func login(
        _ user: String, _ password: String, from peer: Peer = .documentation, names: NameRules = NameRules()
    ) async -> AuthenticationOutcome {
        await login(user, password.utf8, from: peer, names: names)
    }

    /// What it says of whose a bearer token is.
    public func present(_ token: String, from peer: Peer = .documentation) async -> AuthenticationOutcome {
        await judge(token, from: peer).outcome
    }

    /// What it says of whose a bearer token is, and of the token itself.
    public func judge(
        _ token: String, from peer: Peer = .documentation
    ) async -> (outcome: AuthenticationOutcome, token: TokenReference?) {
        let outcome = await authenticate(.bearer(token: Secret(token.utf8)), from: peer)
        guard case .accepted(let identity) = outcome else { return (outcome, nil) }
        let bare = Identity(user: identity.user, groups: identity.groups, authenticator: identity.authenticator)
        return (.accepted(bare), identity.token)
    }
}

extension AuthenticationOutcome {
    /// Whether somebody was let in.
    public var isGrant: Bool { if case .accepted = self { true } else { false } }

    /// That somebody was let in. Names that are none of a user or of a group end the test.
    public static func accepted(
        _ user: String, groups: [String] = [], by authenticator: PluginName
    ) -> AuthenticationOutcome {
        let groups = groups.map { text in
            guard let group = GroupName(text) else { fatalError("\"\(text)\" is no group's name") }
            return group
        }
        guard let user = UserName(canonical: user) else { fatalError("\"\(user)\" is no user's name") }
        return .accepted(Identity(user: user, groups: Set(groups), authenticator: authenticator))
    }
}
