public import GatewayCore
internal import Logging
internal import Synchronization

/// The authenticators in the order of the configuration. The first that does not say `notMine` decides.
public struct AuthenticatorChain: Sendable {
    /// One authenticator as the configuration lists it. By reference: each call goes through them.
    public final class Link: Sendable {
        /// The plug-in's name.
        public let name: PluginName
        /// The kinds of credential that it takes.
        public let takes: Set<CredentialKind>
        /// For whom it may vouch.
        public let bounds: VouchingBounds
        /// Whether its answer may depend on the peer's address.
        public let verdictDependsOnPeer: Bool
        /// The authenticator.
        public let authenticator: any Authenticator
        /// Where its answers are counted; nil for nowhere.
        public let metrics: AuthenticatorMetrics?

        /// A link from its parts.
        public init(
            name: PluginName, takes: Set<CredentialKind>, bounds: VouchingBounds = VouchingBounds(),
            verdictDependsOnPeer: Bool = true, authenticator: any Authenticator,
            metrics: AuthenticatorMetrics? = nil
        ) {
            self.name = name
            self.takes = takes
            self.bounds = bounds
            self.verdictDependsOnPeer = verdictDependsOnPeer
            self.authenticator = authenticator
            self.metrics = metrics
        }
    }

    private let links: [Link]
    /// The authenticators that only tell how an account stands when they are asked.
    private let reviewed: Set<PluginName>
    /// The authenticators that say nothing of an account but at a login.
    private let loginsOnly: Set<PluginName>
    /// Tells this chain from those of other configurations: what one of them said is never taken for the word of another.
    private let generation = Self.generations.wrappingAdd(1, ordering: .relaxed).newValue
    private static let generations = Atomic<UInt64>(0)
    /// Those who judge tokens, of whom it is not known before whose they are.
    let tokenPanel: Panel
    // Whoever hangs beyond its deadline still holds what it holds, so there is an end to how many may.
    private let underWay = UnderWay()
    private static let mostUnderWay = 4096

    /// A chain, asked in this order.
    public init(_ links: [Link]) {
        self.links = links
        reviewed = Set(
            links.lazy.filter { $0.authenticator is any AccountAuthenticator && !($0.authenticator is any AccountList) }
                .map(\.name))
        loginsOnly = Set(
            links.lazy.filter { link in
                !(link.authenticator is any AccountAuthenticator) && !(link.authenticator is any TokenIssuer)
            }.map(\.name)
        ).subtracting(
            links.lazy.filter { $0.authenticator is any AccountAuthenticator }.map(\.name))
        tokenPanel = Panel(links.enumerated().filter { $0.element.takes.contains(.bearer) }, of: generation)
    }

    /// Who issues tokens: the first that can.
    var issuer: (any TokenIssuer)? { links.lazy.compactMap { $0.authenticator as? any TokenIssuer }.first }

    /// Whether an authenticator must be asked from time to time how its accounts stand: it can say so without a password, and has
    /// no list of them whose changes would tell.
    public func mustReview(_ authenticator: PluginName) -> Bool { reviewed.contains(authenticator) }

    /// The authenticators that tell only at a login whether an account is good. What their accounts were granted ends some time
    /// after the last login (`AuthenticationRules`).
    public var authenticatorsWithoutStatus: Set<PluginName> { loginsOnly }

    /// How an account stands; nil where nobody can say so without a password.
    ///
    /// An account of an authenticator that is no longer configured has ended.
    public func standing(of account: Account) async -> AccountStanding? {
        let vouchers = links.filter { $0.name == account.authenticator && $0.bounds.contain(account.user) }
        guard !vouchers.isEmpty else { return .ended(.wrong) }
        let keepers = vouchers.compactMap { link in
            (link.authenticator as? any AccountAuthenticator).map { (link.bounds, $0) }
        }
        guard !keepers.isEmpty else { return nil }
        var standing = AccountStanding.ended(.wrong)
        for (bounds, keeper) in keepers {
            standing = await keeper.standing(of: account.login)
            switch standing {
            case .good(let groups):
                // The bounds may be narrower than when the account let somebody in.
                if bounds.contain(Identity(user: account.user, groups: groups, authenticator: account.authenticator)) {
                    return standing
                }
                standing = .ended(.untrusted)
            case .unknown: return standing
            case .ended: continue
            }
        }
        return standing
    }

    /// Asks the authenticators, in their order, for the account that a password of this user would be judged by. No password is
    /// needed, and nothing is logged in.
    ///
    /// The first that has the account is the last that is asked: it owns the name, also where the account is disabled.
    func lookUpAccount(of user: UserName, login: LoginName) async -> AccountLookup {
        var lookup = AccountLookup()
        for link in links where link.takes.contains(.password) && link.bounds.contain(user) {
            guard let keeper = link.authenticator as? any AccountAuthenticator else {
                lookup.undecided.append(.init(authenticator: link.name, reason: .loginsOnly))
                continue
            }
            switch await keeper.standing(of: login) {
            case .ended(.wrong): lookup.unknownTo.append(link.name)
            case .unknown(let reason):
                lookup.undecided.append(.init(authenticator: link.name, reason: .outage(reason)))
            case .good(let groups):
                lookup.owner = link.name
                if link.bounds.contain(Identity(user: user, groups: groups, authenticator: link.name)) {
                    lookup.groups = groups
                }
                return lookup
            case .ended:
                lookup.owner = link.name
                return lookup
            }
        }
        return lookup
    }

    /// The kinds of credential that anybody takes: a 401 challenges for these.
    var takes: [CredentialKind] {
        CredentialKind.allCases.filter { kind in links.contains { $0.takes.contains(kind) } }
    }

    /// Those who judge a password of this user, or of a name without canonical form: who may not vouch for the name is not
    /// asked about it.
    func passwordPanel(of user: UserName?) -> Panel {
        Panel(
            links.enumerated().filter { $0.element.takes.contains(.password) && $0.element.bounds.contain(user) },
            of: generation)
    }

    /// Those of the authenticators that are asked about one credential.
    struct Panel: Sendable {
        /// Tells it from all others of the chain.
        let name: String
        /// Whether the verdict of any of them may depend on the peer's address.
        let dependsOnPeer: Bool
        fileprivate let links: [Link]

        /// Counts a password that one of them was not asked about, since its word on it was known or just being asked for.
        func noteSpared(_ judge: PluginName?) {
            guard let judge, let index = links.firstIndex(where: { $0.name == judge }) else { return }
            links[index].metrics?.noteSpared()
        }

        fileprivate init(_ asked: [(offset: Int, element: Link)], of generation: UInt64) {
            name = "\(generation)\n" + asked.map { "\($0.offset) \($0.element.name)" }.joined(separator: "\n")
            dependsOnPeer = asked.contains { $0.element.verdictDependsOnPeer }
            links = asked.map(\.element)
        }
    }

    /// The word of the first authenticator whose credential it is; nobody's credential is a wrong one.
    ///
    /// - Parameters:
    ///   - user: the canonical form of the name that came with a password: nobody may vouch for another.
    ///   - logger: where an authenticator that does so is named.
    func authenticate(
        _ credential: Credential, of user: UserName?, by panel: Panel, from peer: Peer, logger: Logger
    ) async -> Judgement {
        guard underWay.count.add(1, ordering: .relaxed).newValue <= Self.mostUnderWay else {
            underWay.count.subtract(1, ordering: .relaxed)
            return .unavailable(.busy)
        }
        defer { underWay.count.subtract(1, ordering: .relaxed) }
        for link in panel.links {
            let start = link.metrics?.now() ?? 0
            let outcome = await link.authenticator.authenticate(credential, from: peer)
            link.metrics?.note(outcome, since: start)
            if case .notMine = outcome { continue }
            if case .password = credential { link.metrics?.noteAsked() }
            guard case .accepted(let identity) = outcome else { return Judgement(outcome: outcome, judge: link.name) }
            return Judgement(outcome: link.judged(identity, credential.kind, of: user, logger), judge: link.name)
        }
        return Judgement(outcome: .rejected(.wrong))
    }

    /// The verdict on a token where everybody who is asked gives it without a wait, or nil.
    func verdictAtOnce(on token: Credential, from peer: Peer, logger: Logger) -> Judgement? {
        for link in tokenPanel.links {
            let start = link.metrics?.now() ?? 0
            guard let outcome = link.authenticator.verdictAtOnce(on: token, from: peer) else { return nil }
            link.metrics?.note(outcome, since: start)
            switch outcome {
            case .notMine: continue
            case .accepted(let identity):
                return Judgement(outcome: link.judged(identity, .bearer, of: nil, logger), judge: link.name)
            case .rejected, .unavailable: return Judgement(outcome: outcome, judge: link.name)
            }
        }
        return Judgement(outcome: .rejected(.wrong))
    }

    private final class UnderWay: Sendable {
        let count = Atomic(0)
    }
}

extension AuthenticatorChain.Link {
    /// What an acceptance is worth: nothing for somebody else than was asked about, nor outside the bounds.
    fileprivate func judged(
        _ identity: Identity, _ kind: CredentialKind, of user: UserName?, _ logger: Logger
    ) -> AuthenticationOutcome {
        if kind == .password, identity.user != user {
            logger.error(
                "An authenticator vouched for another user than was asked about",
                metadata: [
                    "authenticator": "\(name)", "asked": "\(user?.text ?? "-")", "answered": "\(identity.user)",
                ])
            return .rejected(user == nil ? .unmapped : .wrong)
        }
        guard bounds.contain(identity) else {
            logger.warning(
                "An authenticator vouched beyond its bounds",
                metadata: ["authenticator": "\(name)", "user": "\(identity.user)"])
            return .rejected(.untrusted)
        }
        return .accepted(identity)
    }
}
