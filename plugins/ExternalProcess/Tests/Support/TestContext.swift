import ExternalProcess
import GatewayCore
import Logging
import NIOPosix

func testContext(isLastOfItsKind: Bool = true, names: NameRules = NameRules()) -> PluginContext {
    PluginContext(
        logger: Logger(label: "external-process", factory: { _ in SwiftLogNoOpLogHandler() }),
        blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: 64),
        clocks: .system, names: names, isLastOfItsKind: isLastOfItsKind)
}

let testPeer = Peer(address: .v4(0xC000_0201), text: "192.0.2.1")

/// An outcome that can be compared.
enum Answer: Equatable {
    case notMine
    case accepted(Identity)
    case rejected(RejectionReason)
    case unavailable(OutageReason)

    init(_ outcome: AuthenticationOutcome) {
        self =
            switch outcome {
            case .notMine: .notMine
            case .accepted(let identity): .accepted(identity)
            case .rejected(let reason): .rejected(reason)
            case .unavailable(let reason): .unavailable(reason)
            }
    }

    /// Whether somebody was let in.
    var isGrant: Bool { if case .accepted = self { true } else { false } }
}

extension Authenticator {
    func logIn(_ user: String, _ password: String) async -> Answer {
        await logIn(user, bytes: Array(password.utf8))
    }

    func logIn(_ user: String, bytes: [UInt8]) async -> Answer {
        let credential = Credential.password(user: LoginName(user), password: Secret(bytes))
        return Answer(await authenticate(credential, from: testPeer))
    }

    func present(_ token: String) async -> Answer {
        Answer(await authenticate(.bearer(token: Secret(token.utf8)), from: testPeer))
    }
}

func identity(_ user: String, groups: [String] = []) -> Answer {
    guard let user = UserName(canonical: user) else { return .notMine }
    return .accepted(
        Identity(
            user: user, groups: Set(groups.compactMap(GroupName.init)), authenticator: ExternalProcessPlugin.name))
}
