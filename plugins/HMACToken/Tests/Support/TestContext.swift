import GatewayCore
import HMACToken
import Logging
import NIOPosix

/// 2026-11-21T07:00:00Z, and it stays that unless a test turns the hands.
let testNow = WallTime(seconds: 1_795_244_400)

func testContext(
    now: WallTime = testNow, isLastOfItsKind: Bool = true, names: NameRules = NameRules()
) -> PluginContext {
    PluginContext(
        logger: Logger(label: "hmac-token", factory: { _ in SwiftLogNoOpLogHandler() }),
        blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: 64),
        clocks: Clocks(monotonic: { MonotonicInstant(nanoseconds: 0) }, wall: { now }),
        names: names, isLastOfItsKind: isLastOfItsKind)
}

/// What a token gets, as one word or the identity.
enum Answer: Equatable {
    case notMine
    case accepted(Identity)
    case rejected(RejectionReason)
    case unavailable(OutageReason)
}

extension Authenticator {
    func present(_ token: String) async -> Answer {
        let credential = Credential.bearer(token: Secret(token.utf8))
        switch await authenticate(credential, from: Peer(address: .v4(0x7F00_0001), text: "127.0.0.1")) {
        case .notMine: return .notMine
        case .accepted(let identity): return .accepted(identity)
        case .rejected(let reason): return .rejected(reason)
        case .unavailable(let reason): return .unavailable(reason)
        }
    }
}

func identity(_ user: String, groups: [String] = []) -> Answer {
    guard let user = UserName(canonical: user) else { return .notMine }
    return .accepted(
        Identity(user: user, groups: Set(groups.compactMap(GroupName.init)), authenticator: HMACTokenPlugin.name))
}

/// An authenticator over the forge's keys, or over others.
func testAuthenticator(
    _ context: PluginContext = testContext(), keys: String = Forge.keys
) async throws -> any Authenticator {
    let files = try TestFiles()
    let file = try files.write(keys)
    return try await HMACTokenPlugin.makeAuthenticator(.init(keys: file), context: context)
}
