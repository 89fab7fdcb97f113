import GatewayCore
import Logging
import NIOPosix

/// Two kinds of credentials that one authenticator refuses, and how long it takes over each.
struct Comparison {
    let name: String
    /// The same number of both.
    let first: [Credential]
    let second: [Credential]
    /// The verdict on all of them, or nil where the kinds are meant to differ.
    let verdict: AuthenticationOutcome?
    let judge: (Credential) async -> AuthenticationOutcome

    /// A verdict that makes the comparison worthless.
    struct Unexpected: Error, CustomStringConvertible {
        let description: String
    }

    private static let untimed = 500

    /// Presents all in random order.
    func measure() async throws -> WelchTest {
        for credential in first.prefix(Self.untimed / 2) + second.prefix(Self.untimed / 2) {
            _ = await judge(credential)
        }
        let order = (first.map { (true, $0) } + second.map { (false, $0) }).shuffled()
        var times = (first: [Double](), second: [Double]())
        times.first.reserveCapacity(first.count)
        times.second.reserveCapacity(second.count)
        for (isFirst, credential) in order {
            let start = ContinuousClock.now
            let outcome = await judge(credential)
            let time = (ContinuousClock.now - start) / .nanoseconds(1)
            if let verdict, outcome != verdict { throw Unexpected(description: "\(name): \(outcome)") }
            if isFirst { times.first.append(time) } else { times.second.append(time) }
        }
        return WelchTest(times.first, times.second)
    }
}

extension PluginContext {
    /// A context as the gateway makes it, but that nothing is logged.
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
