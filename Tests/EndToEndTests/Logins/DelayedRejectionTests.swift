import Foundation
import GatewayConfiguration
import GatewayServer
import GatewayTesting
import HMACToken
import NIOCore
import Testing

/// Many concurrent wrong passwords for a PAM stack that requests a delay after each.
@Suite(
    "Concurrent wrong PAM passwords",
    .enabled(
        if: PAMModules.matrix != nil && PAMModules.failDelay != nil && SystemTools.compiler != nil,
        "pam_matrix, pam_faildelay or a C compiler is not installed"),
    .disabled(if: TestRun.isSanitized, "a sanitizer changes the time"))
struct DelayedRejectionTests {
    @Test("100 wrong passwords delay neither the event loops, nor the workers, nor a login from another address")
    func hundred() async throws {
        let times = try await TestRun.measure(until: \.areGood) { try await Self.round() }
        #expect(times.areGood, "\(times)")
    }

    private struct Times {
        /// The time until the response to the right password.
        let right: Duration
        /// The delays of timers that waiting for a processor does not explain.
        let own: Latencies
        let machineIsQuiet: Bool

        var areGood: Bool {
            // On a busy machine, a thread may lose its processor while it holds a lock.
            right < .seconds(1) && own.percentile(99) < .milliseconds(5)
                && own.percentile(100) < .milliseconds(machineIsQuiet ? 5 : 100)
        }
    }

    /// Runs one round with a new gateway.
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
            // The crowd waits for two rejections, during which the machine is otherwise idle.
            let crowd = try await Blocking.run { try Crowd(port: port, token: token) }
            let machineIsQuiet = ProcessorLoad().idlePart(since: before) > 0.5
            let start = ContinuousClock.now
            let (right, rings) = try await LoopLag.measure(on: loops) { try await Blocking.run { try crowd.logIn() } }
            let all = ContinuousClock.now - start
            let order: [Substring] = try stack.text(of: "asked").split(separator: "\n")
            let late = Latencies(rings.map(\.late))
            let own = Latencies(rings.map(\.ownFault))
            print(
                "100 wrong passwords: all responses after \(all.inMilliseconds) ms, the right one after "
                    + "\(right.inMilliseconds) ms; timers late: \(late); without waiting for a processor: \(own)")
            #expect(order.count { $0 == "nobody" } == 100)
            #expect(order.count { $0 == "daemon" } == 1)
            // Four workers that each waited for the delay would be busy for 50 s.
            #expect(all < .seconds(10))
            return Times(right: right, own: own, machineIsQuiet: machineIsQuiet)
        }
    }

    /// A hundred devices and one other client. All are connected and have had one response, and the workers have
    /// started, before the first password is sent.
    private final class Crowd: @unchecked Sendable {
        // Unchecked: one thread at a time creates, uses and releases it.
        private let devices: [KeptConnection]
        private let other: KeptConnection

        init(port: Int, token: String) throws {
            // The number of addresses keeps the login throttle from applying.
            devices = try (0..<100).map { try KeptConnection(port: port, from: "127.0.0.\(10 + $0 % 10)") }
            other = try KeptConnection(port: port, from: "127.0.0.2")
            let whoami = RawClient.request("GET", "/auth/whoami", token: token)
            for connection in devices + [other] { #expect(try connection.call(whoami).status == 200) }
            for _ in 0..<2 {
                let first = RawClient.request("GET", "/auth/whoami", as: "first", password: "wrong")
                #expect(try other.call(first).status == 401)
            }
        }

        /// Sends all passwords, the right one last, and returns the time until its response.
        func logIn() throws -> Duration {
            for (number, device) in devices.enumerated() {
                try device.write(
                    RawClient.request("GET", "/auth/whoami", as: "nobody", password: "wrong \(number)"))
                // The sleep is the interval between the requests. No response arrives before all requests are sent.
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

    /// Returns the event loops of the gateway, one per processor. The distribution of connections among them is
    /// unspecified.
    private static func loops(_ port: Int, _ token: String, _ found: LoopFinder.Found) async throws -> [any EventLoop] {
        for _ in 0..<1000 where found.all.count < System.coreCount {
            #expect(try await RawClient(port: port).call("GET", "/auth/whoami", token: token).status == 200)
        }
        try #require(found.all.count == System.coreCount)
        return found.all
    }
}
