public import GatewayCore

/// The authenticators in the order of the configuration. The first that does not say `notMine` decides.
public struct AuthenticatorChain: Sendable {
    /// One authenticator as the configuration lists it.
    public struct Link: Sendable {
        /// The plug-in's name.
        public let name: PluginName
        /// The kinds of credential that it takes.
        public let takes: Set<CredentialKind>
        /// The authenticator.
        public let authenticator: any Authenticator

        /// A link from its parts.
        public init(name: PluginName, takes: Set<CredentialKind>, authenticator: any Authenticator) {
            self.name = name
            self.takes = takes
            self.authenticator = authenticator
        }
    }

    private let links: [Link]

    /// A chain, asked in this order.
    public init(_ links: [Link]) { self.links = links }

    /// The kinds of credential that anybody takes: a 401 challenges for these.
    var takes: [CredentialKind] {
        CredentialKind.allCases.filter { kind in links.contains { $0.takes.contains(kind) } }
    }

    /// The answer of the first authenticator whose credential it is; nobody's credential is a wrong one.
    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        for link in links where link.takes.contains(credential.kind) {
            switch await link.authenticator.authenticate(credential, from: peer) {
            case .notMine: continue
            case .accepted(let identity): return .accepted(identity)
            case .rejected(let reason): return .rejected(reason)
            case .unavailable(let reason): return .unavailable(reason)
            }
        }
        return .rejected(.wrong)
    }
}
