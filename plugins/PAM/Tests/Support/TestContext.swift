import Foundation
import GatewayCore
import Logging
import NIOPosix

@testable import PAM

/// Workers need real time, so these clocks go.
func testContext(isLastOfItsKind: Bool = true, names: NameRules = NameRules()) -> PluginContext {
    PluginContext(
        logger: Logger(label: "pam", factory: { _ in SwiftLogNoOpLogHandler() }),
        blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: 64),
        clocks: .system, names: names, isLastOfItsKind: isLastOfItsKind)
}

/// What a login gets, as one word or the identity.
enum Answer: Hashable {
    case notMine
    case accepted(Identity)
    case rejected(RejectionReason)
    case unavailable(OutageReason)

    var isGrant: Bool {
        if case .accepted = self { true } else { false }
    }
}

/// Documentation addresses, as many as needed.
func testPeer(_ number: UInt32 = 1) -> Peer {
    Peer(address: .v4(0xC000_0200 + number), text: "192.0.2.\(number)")
}

extension Authenticator {
    func login(
        _ user: String, _ password: some Sequence<UInt8>, from peer: Peer = testPeer(), names: NameRules = NameRules()
    ) async -> Answer {
        let credential = Credential.password(user: names.login(PresentedName(user)), password: Secret(password))
        switch await authenticate(credential, from: peer) {
        case .notMine: return .notMine
        case .accepted(let identity): return .accepted(identity)
        case .rejected(let reason): return .rejected(reason)
        case .unavailable(let reason): return .unavailable(reason)
        }
    }

    func login(
        _ user: String, _ password: String, from peer: Peer = testPeer(), names: NameRules = NameRules()
    ) async -> Answer {
        await login(user, password.utf8, from: peer, names: names)
    }
}

/// The full counts of tests that repeat, where asked for.
let repetitions = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_FULL"] == nil ? 200 : 1000
