public import GatewayCore
internal import Logging
internal import Synchronization

/// The authenticators in the order of the configuration. The first result other than `notMine` decides.
public struct AuthenticatorChain: Sendable {
    let links: [Link]
    /// The authenticators that report the status of an account only when the gateway queries it.
    private let rechecked: Set<PluginName>
    /// The authenticators that report on an account only at a login.
    private let loginsOnly: Set<PluginName>
    /// The number of this chain. Results in the password cache belong to one number, so that another configuration does
    /// not use them.
    private let generation = Self.generations.wrappingAdd(1, ordering: .relaxed).newValue
    private static let generations = Atomic<UInt64>(0)
    /// The authenticators that verify tokens. The user of a token is not known beforehand.
    private let tokenCandidates: Candidates
    /// The authenticators that decide whose a certificate is.
    private let certificateCandidates: Candidates
    // An authenticator that hangs keeps its resources beyond the deadline, so the number of concurrent verifications is
    // limited.
    private let inProgress = InFlightCount()
    /// The queries of accounts in progress.
    private let queries = AccountQueries()
    /// The ends of listed accounts that wait for an operator; nil if none does.
    private let massEnds: MassEnds?
    private static let maximumInProgress = 4096

    /// Creates a chain with this order.
    ///
    /// - Parameter massEnds: The ends of listed accounts that wait for an operator.
    public init(_ links: [Link], massEnds: MassEnds? = nil) {
        self.links = links
        self.massEnds = massEnds
        rechecked = Set(
            links.lazy.filter { $0.authenticator is any AccountAuthenticator && !($0.authenticator is any AccountList) }
                .map(\.name))
        loginsOnly = Set(
            links.lazy.filter { link in
                !(link.authenticator is any AccountAuthenticator) && !(link.authenticator is any TokenIssuer)
            }.map(\.name)
        ).subtracting(
            links.lazy.filter { $0.authenticator is any AccountAuthenticator }.map(\.name))
        tokenCandidates = Candidates(
            links.enumerated().filter { $0.element.credentialKinds.contains(.bearer) }, of: generation)
        certificateCandidates = Candidates(
            links.enumerated().filter { $0.element.credentialKinds.contains(.certificate) }, of: generation)
    }

    /// The token issuer: the first link that can issue tokens.
    var issuer: (any TokenIssuer)? { links.lazy.compactMap { $0.authenticator as? any TokenIssuer }.first }

    /// The authenticators whose identity provider announces logouts.
    var logoutReceivers: [any LogoutReceiver] {
        links.compactMap { $0.authenticator as? any LogoutReceiver }.filter(\.receivesLogouts)
    }

    /// Returns whether the gateway must query the authenticator regularly for the status of its accounts: it can report
    /// the status without a password, but has no account list that announces changes.
    public func requiresRecheck(_ authenticator: PluginName) -> Bool { rechecked.contains(authenticator) }

    /// The authenticators that report on an account only at a login. Sessions and registrations of such accounts expire
    /// some time after the last login (`AuthenticationRules`).
    public var authenticatorsWithoutStatus: Set<PluginName> { loginsOnly }

    /// The names of the configured authenticators.
    public var names: Set<PluginName> { Set(links.map(\.name)) }

    /// Returns whether an authenticator of this name is configured.
    public func contains(_ authenticator: PluginName) -> Bool { links.contains { $0.name == authenticator } }

    /// Returns the status of an account; nil if it cannot be determined without a password.
    ///
    /// Queries the authenticators of that name in their order, up to the first one that has the account. This one
    /// decides, as at a login: an account that is disabled there has ended, even if a later one has the same name too.
    /// An account of an authenticator that is no longer configured has ended. A listed account whose end waits for an
    /// operator has not: its status is unknown.
    ///
    /// The accounts of one user are queried one at a time, and equal queries share their answer.
    public func status(of account: Account, for purpose: AccountQueryPurpose = .request) async -> AccountStatus? {
        let matchingLinks = links.filter { $0.name == account.authenticator && $0.scope.contains(account.user) }
        let status: AccountStatus?
        if matchingLinks.isEmpty {
            status = .ended(.wrong)
        } else {
            status = await queries.status(of: account, for: purpose) {
                await Self.status(of: account, by: matchingLinks, for: purpose)
            }
        }
        if case .ended? = status, let massEnds, massEnds.isHeld(account.user, by: account.authenticator) {
            return .unknown(.failed)
        }
        return status
    }

    private static func status(
        of account: Account, by links: [Link], for purpose: AccountQueryPurpose
    ) async -> AccountStatus? {
        let accountAuthenticators = links.compactMap { link in
            (link.authenticator as? any AccountAuthenticator).map { (link.scope, $0) }
        }
        guard !accountAuthenticators.isEmpty else { return nil }
        for (scope, authenticator) in accountAuthenticators {
            guard authenticator is any AccountList || NameRules.isUnambiguous(account.login) else { continue }
            let status = await authenticator.status(of: account.login, for: purpose)
            switch status {
            case .valid(let groups):
                // The configuration may have narrowed the scope since the login.
                let identity = Identity(user: account.user, groups: groups, authenticator: account.authenticator)
                return scope.contains(identity) ? status : .ended(.untrusted)
            case .ended(.wrong): continue
            case .ended, .unknown: return status
            }
        }
        return .ended(.wrong)
    }

    /// Returns the account that a password of this user would be verified against, as far as it can be determined
    /// without a password.
    ///
    /// Queries the authenticators in their order, up to the first one that has the account. This one owns the name,
    /// even if the account is disabled.
    func lookUpAccount(of user: UserName, login: LoginName) async -> AccountLookup {
        var lookup = AccountLookup()
        for link in links where link.credentialKinds.contains(.password) && link.scope.contains(user) {
            guard link.mayVerify(login) else {
                lookup.unknownTo.append(link.name)
                continue
            }
            guard let authenticator = link.authenticator as? any AccountAuthenticator else {
                lookup.undecided.append(.init(authenticator: link.name, reason: .loginsOnly))
                continue
            }
            switch await authenticator.status(of: login) {
            case .ended(.wrong): lookup.unknownTo.append(link.name)
            case .unknown(let reason):
                lookup.undecided.append(.init(authenticator: link.name, reason: .outage(reason)))
            case .valid(let groups):
                lookup.owner = link.name
                if link.scope.contains(Identity(user: user, groups: groups, authenticator: link.name)) {
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

    /// The kinds of credential that the chain accepts. A 401 has a challenge for each.
    var credentialKinds: [CredentialKind] {
        CredentialKind.allCases.filter { kind in links.contains { $0.credentialKinds.contains(kind) } }
    }

    /// Returns the candidates for a password of this user (nil for a name without canonical form). An authenticator
    /// never receives the password of a user outside its scope.
    func passwordCandidates(of user: UserName?) -> Candidates {
        Candidates(
            links.enumerated().filter {
                $0.element.credentialKinds.contains(.password) && $0.element.scope.contains(user)
            },
            of: generation)
    }

    /// Whether an authenticator accepts certificates.
    var acceptsCertificates: Bool { !certificateCandidates.isEmpty }

    /// Returns the candidates for a token or a certificate.
    func candidates(for credential: Credential) -> Candidates {
        if case .certificate = credential { certificateCandidates } else { tokenCandidates }
    }

    /// The candidates: the authenticators that are queried about one credential.
    struct Candidates: Sendable {
        /// A name that is unique among the candidate lists of all chains.
        let name: String
        /// Whether the result of any candidate may depend on the peer's address.
        let dependsOnPeer: Bool
        /// Whether a token may cause any candidate to query a service.
        let queriesServiceForTokens: Bool
        fileprivate let links: [Link]

        var isEmpty: Bool { links.isEmpty }

        /// Counts a password that the authenticator was not queried about, because its result was cached or already
        /// pending.
        func recordCacheHit(_ authenticator: PluginName?) {
            guard let authenticator, let index = links.firstIndex(where: { $0.name == authenticator }) else { return }
            links[index].metrics?.recordCacheHit()
        }

        fileprivate init(_ candidates: [(offset: Int, element: Link)], of generation: UInt64) {
            name = "\(generation)\n" + candidates.map { "\($0.offset) \($0.element.name)" }.joined(separator: "\n")
            dependsOnPeer = candidates.contains { $0.element.outcomeDependsOnPeer }
            queriesServiceForTokens = candidates.contains { $0.element.authenticator.queriesServiceForTokens }
            links = candidates.map(\.element)
        }
    }

    /// Queries the candidates in order and returns the first result other than `notMine`. If there is none, the
    /// credential is rejected as wrong.
    ///
    /// - Parameters:
    ///   - user: The canonical name presented with a password. No authenticator may accept another one.
    ///   - logger: Receives the name of an authenticator that does so.
    func authenticate(
        _ credential: Credential, of user: UserName?, by candidates: Candidates, from peer: Peer, logger: Logger
    ) async -> VerificationResult {
        guard inProgress.count.add(1, ordering: .relaxed).newValue <= Self.maximumInProgress else {
            inProgress.count.subtract(1, ordering: .relaxed)
            return .unavailable(.busy)
        }
        defer { inProgress.count.subtract(1, ordering: .relaxed) }
        for link in candidates.links {
            if case .password(let login, _) = credential, !link.mayVerify(login) { continue }
            let start = link.metrics?.now() ?? 0
            let outcome = await link.authenticator.authenticate(credential, from: peer)
            link.metrics?.record(outcome, since: start)
            if case .notMine = outcome { continue }
            if case .password = credential { link.metrics?.recordCacheMiss() }
            guard case .accepted(let identity) = outcome else {
                return VerificationResult(outcome: outcome, authenticator: link.name)
            }
            return VerificationResult(
                outcome: link.checked(identity, credential.kind, of: user, logger), authenticator: link.name)
        }
        return VerificationResult(outcome: .rejected(.wrong))
    }

    /// Returns the result for a token or a certificate if every queried authenticator can verify it without
    /// suspending; otherwise nil.
    func immediateOutcome(on credential: Credential, from peer: Peer, logger: Logger) -> VerificationResult? {
        for link in candidates(for: credential).links {
            let start = link.metrics?.now() ?? 0
            guard let outcome = link.authenticator.immediateOutcome(on: credential, from: peer) else { return nil }
            link.metrics?.record(outcome, since: start)
            switch outcome {
            case .notMine: continue
            case .accepted(let identity):
                return VerificationResult(
                    outcome: link.checked(identity, credential.kind, of: nil, logger), authenticator: link.name)
            case .rejected, .unavailable: return VerificationResult(outcome: outcome, authenticator: link.name)
            }
        }
        return VerificationResult(outcome: .rejected(.wrong))
    }

    private final class InFlightCount: Sendable {
        let count = Atomic(0)
    }
}
