import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization

@testable import Gateway

/// An authenticator that knows one password for each user and counts its queries.
final class CountingAuthenticator: Authenticator {
    private let good: Mutex<[String: String]>
    private let asked = Mutex<[String: Int]>([:])

    init(_ good: [String: String]) { self.good = Mutex(good) }

    /// The number of queries for this user with this password.
    func verificationCount(_ user: String, _ password: String) -> Int {
        asked.withLock { $0["\(user):\(password)"] ?? 0 }
    }
    var verificationCount: Int { asked.withLock { $0.values.reduce(0, +) } }
    /// The highest number of queries for one pair of user and password.
    var mostOften: Int { asked.withLock { $0.values.max() ?? 0 } }

    func set(_ password: String, of user: String) { good.withLock { $0[user] = password } }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .password(let user, let password) = credential else { return .notMine }
        let text = password.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        asked.withLock { $0["\(user.text):\(text)", default: 0] += 1 }
        guard good.withLock({ $0[user.text] }) == text else { return .rejected(.wrong) }
        guard let name = NameRules().canonical(user) else { return .rejected(.unmapped) }
        return .accepted(Identity(user: name, authenticator: "counting"))
    }
}

extension TestGateway {
    /// A gateway with one authenticator, and without limits unless the test sets some.
    init(
        asking authenticator: any Authenticator, dependsOnPeer: Bool = true,
        credentialKinds: Set<CredentialKind> = [.password], scope: AuthenticatorScope = AuthenticatorScope(),
        adjust: (inout CompiledConfiguration) -> Void = { _ in }
    ) {
        self.init(adjust: { rules in
            rules.authenticators = AuthenticatorChain([
                .init(
                    name: "asked", credentialKinds: credentialKinds, scope: scope, outcomeDependsOnPeer: dependsOnPeer,
                    authenticator: authenticator)
            ])
            rules.limiter = Limiter([], clocks: ManualClock().clocks)
            adjust(&rules)
        })
    }

    /// Sends a whoami request and returns the response's status.
    func login(_ user: String, _ password: String, from peer: Peer = .documentation) async -> Int {
        await serve(.login(user, password, from: peer)).status
    }
}

extension ReceivedRequest {
    static func login(_ user: String, _ password: String, from peer: Peer = .documentation) -> ReceivedRequest {
        ReceivedRequest("GET /auth/whoami", authorization: .basic(user, password), peer: peer)
    }
}

extension Peer {
    static func v4(_ number: UInt32) -> Peer { Peer(address: .v4(number), text: "v4-\(number)") }
}

extension UserName {
    static func test(_ text: String) -> UserName { UserName(canonical: text)! }
}
