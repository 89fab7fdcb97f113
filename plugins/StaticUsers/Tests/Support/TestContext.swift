import GatewayCore
import Logging
import NIOPosix
import StaticUsers

/// 2026-11-21T07:00:00Z, and it stays that.
let testNow = WallTime(seconds: 1_795_244_400)

func testContext(
    isLastOfItsKind: Bool = true, capacity: Int = 64, names: NameRules = NameRules()
) -> PluginContext {
    PluginContext(
        logger: Logger(label: "static-users", factory: { _ in SwiftLogNoOpLogHandler() }),
        blockingPool: BlockingPool(threads: NIOThreadPool.singleton, capacity: capacity),
        clocks: Clocks(monotonic: { MonotonicInstant(nanoseconds: 0) }, wall: { testNow }),
        names: names, isLastOfItsKind: isLastOfItsKind)
}

/// What a login gets, as one word or the identity.
enum Answer: Equatable {
    case notMine
    case accepted(Identity)
    case rejected(RejectionReason)
    case unavailable(OutageReason)
}

extension Authenticator {
    func login(_ user: String, _ password: some Sequence<UInt8>, names: NameRules = NameRules()) async -> Answer {
        let credential = Credential.password(user: names.login(PresentedName(user)), password: Secret(password))
        switch await authenticate(credential, from: Peer(address: .v4(0x7F00_0001), text: "127.0.0.1")) {
        case .notMine: return .notMine
        case .accepted(let identity): return .accepted(identity)
        case .rejected(let reason): return .rejected(reason)
        case .unavailable(let reason): return .unavailable(reason)
        }
    }

    func login(_ user: String, _ password: String) async -> Answer { await login(user, password.utf8) }
}

/// Hashes of `correct horse`, as cheap as each scheme goes.
enum Hashes {
    static let sha512 =
        "$6$rounds=1000$saltforalice$L20ys1fp63feVV3.Z1YeWhkaZZkpwjs8eLjbXa2h.azcKScwrWdVbSXd3O676s9DF43ydQHAJRuY.bcaR3txP/"
    static let otherSHA512 =
        "$6$rounds=1000$saltforbob$BmHuRtdCSGy7EXh18UwvtlHarGSb/.njZ9z.mdF4vtVcSA91hrZDj/VM5sT9ko7qTCaqLqH20UqwKLHlqsGzt1"
    static let sha256 = "$5$rounds=1000$saltforcarol$Pm.YQgPAbrBcUGT4zHukm.w64F51AC5dvLwDh4QnG93"
    static let bcrypt = "$2y$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"
    static let yescrypt = "$y$j75$saltsalt$5wlMXHz82Iqiv0ywbT8h3LCVssbi3h0Xh43jM7E7Tr2"
    static let scrypt = "$7$6U..../....saltsalt$.ijSN9ox0ixuwZlhJVed1jpHJCekW3kpCZz3MiY6DD8"
}
