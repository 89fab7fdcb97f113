import ForwardAuth
import Foundation
import GatewayCore
import Logging
import NIOPosix

func testContext(isLastOfItsKind: Bool = true, names: NameRules = NameRules()) -> PluginContext {
    PluginContext(
        logger: Logger(label: "forward-auth", factory: { _ in SwiftLogNoOpLogHandler() }),
        blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: 64),
        clocks: .system, names: names, isLastOfItsKind: isLastOfItsKind)
}

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
    func logIn(
        _ user: String, _ password: some Sequence<UInt8>,
        from peer: Peer = Peer(address: .v4(0xC000_0201), text: "192.0.2.1")
    ) async -> Answer {
        let credential = Credential.password(user: LoginName(user), password: Secret(password))
        return Answer(await authenticate(credential, from: peer))
    }

    func logIn(_ user: String, _ password: String) async -> Answer { await logIn(user, password.utf8) }

    func present(_ token: String) async -> Answer {
        Answer(
            await authenticate(
                .bearer(token: Secret(token.utf8)), from: Peer(address: .v4(0xC000_0201), text: "192.0.2.1")))
    }
}

func identity(_ user: String, groups: [String] = []) -> Answer {
    guard let user = UserName(canonical: user) else { return .notMine }
    return .accepted(
        Identity(user: user, groups: Set(groups.compactMap(GroupName.init)), authenticator: ForwardAuthPlugin.name))
}

/// The strings that break naive programs, where they are present.
enum NaughtyStrings {
    static let all: [String] = {
        let package = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_CORPORA"].map { URL(fileURLWithPath: $0) }
        let directory = named ?? package.deletingLastPathComponent().appendingPathComponent("shared/corpora")
        guard let data = try? Data(contentsOf: directory.appendingPathComponent("blns.json")),
            let strings = try? JSONDecoder().decode([String].self, from: data)
        else { return [] }
        return strings
    }()
}
