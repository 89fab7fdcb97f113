import GatewayCore
import GatewaySupport
import Logging
import NIOPosix

/// A comparison of the time that one authenticator takes to reject two kinds of credentials.
struct Comparison {
    let name: String
    /// The two kinds of credentials, the same number of each.
    let first: [Credential]
    let second: [Credential]
    /// The expected outcome of all credentials, or nil for a control, whose kinds may have different outcomes.
    let expected: AuthenticationOutcome?
    let verify: (Credential) async -> AuthenticationOutcome

    /// The error for an unexpected outcome, which makes the comparison invalid.
    struct Unexpected: Error, CustomStringConvertible {
        let description: String
    }

    private static let untimed = 500

    /// Verifies all credentials in random order.
    func measure() async throws -> WelchTest {
        for credential in first.prefix(Self.untimed / 2) + second.prefix(Self.untimed / 2) {
            _ = await verify(credential)
        }
        let order = (first.map { (true, $0) } + second.map { (false, $0) }).shuffled()
        var times = (first: [Double](), second: [Double]())
        times.first.reserveCapacity(first.count)
        times.second.reserveCapacity(second.count)
        for (isFirst, credential) in order {
            let start = ContinuousClock.now
            let outcome = await verify(credential)
            let time = (ContinuousClock.now - start) / .nanoseconds(1)
            if let expected, outcome != expected { throw Unexpected(description: "\(name): \(outcome)") }
            if isFirst { times.first.append(time) } else { times.second.append(time) }
        }
        return WelchTest(times.first, times.second)
    }
}

extension PluginContext {
    /// A context like the gateway's, but without logging.
    static func ofBenchmarks(isLastOfItsKind: Bool = true) -> PluginContext {
        PluginContext(
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() },
            blockingPool: BlockingPool(threads: .singleton, capacity: 64), clocks: .system, names: NameRules(),
            isLastOfItsKind: isLastOfItsKind)
    }
}

extension Peer {
    static let ofBenchmarks = Peer(address: .v4(0xC000_0201), text: "192.0.2.1")
}
