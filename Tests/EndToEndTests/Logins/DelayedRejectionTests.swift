import Foundation
import GatewayServer
import GatewayTesting
import HMACToken
import NIOCore
import Testing

/// Many wrong passwords at once against a stack that asks for a pause after each.
@Suite(
    "Many wrong PAM passwords at once",
    .enabled(
        if: PAMModules.matrix != nil && PAMModules.failDelay != nil && SystemTools.compiler != nil,
        "pam_matrix, pam_faildelay or a C compiler is not installed"),
    .disabled(if: TestRun.isSanitized, "a sanitizer takes time of its own"))
struct DelayedRejectionTests {
    @Test("100 hold up neither the event loops, nor workers, nor somebody elsewhere with the right one")
    func hundred() async throws {
        let times = try await TestRun.measure(until: \.areGood) { try await Self.round() }
        #expect(times.areGood, "\(times)")
    }

    private struct Times {
        /// Until the right password was answered.
        let right: Duration
        /// How late timers rang by their loops' own fault.
        let own: Latencies
        let machineIsQuiet: Bool

        var areGood: Bool {
            // Among others who keep the machine busy, whoever holds a lock for a moment may lose its processor with it.
            right < .seconds(1) && own.percentile(99) < .milliseconds(5)
                && own.percentile(100) < .milliseconds(machineIsQuiet ? 5 : 100)
        }
    }

    /// One round, with a gateway of its own.
    private static func round() async throws -> Times {
        let stack = try PAMStack()
        let asked = "\(stack.path)/asked"
        let lines = """
            auth optional \(try #require(PAMModules.failDelay)) delay=2000000
            auth optional \(try stack.misbehavingModule()) note \(asked)
            """
        try stack.useMatrix(["nobody", "daemon"], before: lines)
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        let token = try IssuedTokens.alice(by: directory)
        let text = """
            authenticators:
              - loop-finder: { name: "\(stack.path)" }
              - \(IssuedTokens.configuration)
              - pam: { service: \(PAMStack.service), service-directory: \(stack.path), minimum-uid: 1, queue: 400 }
            """
        let catalog = PluginCatalog([LoopFinder.self, HMACTokenPlugin.self, TestPAMPlugin.self])
        return try await ConfiguredGateway.run(text, in: directory, catalog: catalog) { port in
            let loops = try await Self.loops(port, token, LoopFinder.found(as: stack.path))
            let before = ProcessorLoad()
            // Waits for two refusals, in which a machine of its own has nothing to do.
            let crowd = try await Blocking.run { try Crowd(port: port, token: token) }
            let machineIsQuiet = ProcessorLoad().idlePart(since: before) > 0.5
            let start = ContinuousClock.now
            let (right, rings) = try await LoopLag.measure(on: loops) { try await Blocking.run { try crowd.logIn() } }
            let all = ContinuousClock.now - start
            let order: [Substring] = try stack.text(of: "asked").split(separator: "\n")
            let late = Latencies(rings.map(\.late))
            let own = Latencies(rings.map(\.ownFault))
            print(
                "100 wrong passwords: all answered after \(all.inMilliseconds) ms, the right one after "
                    + "\(right.inMilliseconds) ms; timers late: \(late); without waiting for a processor: \(own)")
            #expect(order.count { $0 == "nobody" } == 100)
            #expect(order.count { $0 == "daemon" } == 1)
            // Held for its delay by each of them, four workers would have been busy for 50 s.
            #expect(all < .seconds(10))
            return Times(right: right, own: own, machineIsQuiet: machineIsQuiet)
        }
    }

    /// A hundred devices and somebody elsewhere, all connected, and served once, before the first password goes out. The first of
    /// everything, workers included, has been as well.
    private final class Crowd: @unchecked Sendable {
        // Unchecked: made, then used, then dropped, by one thread at a time.
        private let devices: [KeptConnection]
        private let other: KeptConnection

        init(port: Int, token: String) throws {
            // As many addresses as it takes for none of them to have tried too often.
            devices = try (0..<100).map { try KeptConnection(port: port, from: "127.0.0.\(10 + $0 % 10)") }
            other = try KeptConnection(port: port, from: "127.0.0.2")
            let whoami = RawClient.request("GET", "/auth/whoami", token: token)
            for connection in devices + [other] { #expect(try connection.call(whoami).status == 200) }
            for _ in 0..<2 {
                let first = RawClient.request("GET", "/auth/whoami", as: "first", password: "wrong")
                #expect(try other.call(first).status == 401)
            }
        }

        /// Sends all passwords, the right one last, and answers how long the right one took.
        func logIn() throws -> Duration {
            for (number, device) in devices.enumerated() {
                try device.write(
                    RawClient.request("GET", "/auth/whoami", as: "nobody", password: "wrong \(number)"))
                // As devices come: within a moment, and not in the same one. None is answered before all are under way.
                Thread.sleep(forTimeInterval: 0.001)
            }
            let before = ContinuousClock.now
            let status = try other.call(RawClient.request("GET", "/auth/whoami", as: "daemon", password: "right"))
                .status
            let took = ContinuousClock.now - before
            #expect(status == 200)
            for device in devices { #expect(try device.response().status == 401) }
            return took
        }
    }

    /// The gateway's event loops: as many as there are processors. Connections come to them by turns, or as it happens.
    private static func loops(_ port: Int, _ token: String, _ found: LoopFinder.Found) async throws -> [any EventLoop] {
        for _ in 0..<1000 where found.all.count < System.coreCount {
            #expect(try await RawClient(port: port).call("GET", "/auth/whoami", token: token).status == 200)
        }
        try #require(found.all.count == System.coreCount)
        return found.all
    }
}
