import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewayTesting
import HMACToken
import NIOCore
import NotifyBackend
import Testing

/// Accounts of a directory server.
@Suite("Accounts of a directory", .enabled(if: Slapd.isInstalled, "slapd is not installed"))
struct DirectoryAccountTests {
    private static func configuration(_ url: String, _ more: String = "") -> String {
        """
        authenticators:
          - ldap:
              url: \(url)
              bind-dn: \(Slapd.service)
              bind-password: \(Slapd.servicePassword)
              base: \(Slapd.people)
              \(more)

        """
    }

    @Test(
        "An account that the directory disabled loses its session and its registrations, and another one keeps them",
        .timeLimit(.minutes(1)))
    func disabled() async throws {
        let slapd = try Slapd(Slapd.user("alice") + Slapd.user("bob"))
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { backend in
            let directory = try TestFiles()
            try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
            let text =
                ConfiguredGateway.preamble.replacing("127.0.0.1:1\"", with: "127.0.0.1:\(backend)\"")
                + Self.configuration(slapd.socketURL) + "  - \(IssuedTokens.configuration)\n"
            let catalog = PluginCatalog([TestLDAPPlugin.self, HMACTokenPlugin.self])
            try await ConfiguredGateway.start(text, in: directory, catalog: catalog) { gateway in
                guard case .tcp(_, let port) = gateway.listeners.first else {
                    throw GatewayUnderTest.StartFailure(description: "no listener")
                }
                let client = try RawClient(port: port)
                let handles = [String(repeating: "AC", count: 32), String(repeating: "BD", count: 32)]
                var tokens: [String] = []
                for (name, handle) in zip(["alice", "bob"], handles) {
                    #expect(try await client.register(name, "apns", handle, password: "right").status == 200)
                    let login = try await client.call("POST", "/auth/token", as: name, password: "right")
                    let body = try JSONSerialization.jsonObject(with: Data(login.body)) as? [String: Any]
                    tokens.append(try #require(body?["access_token"] as? String, "\(login.text)"))
                }
                #expect(hub.registrations().count == 2)
                try slapd.modify(
                    "dn: uid=alice,\(Slapd.people)\nchangetype: modify\nadd: userAccountControl\nuserAccountControl: 514\n"
                )
                // The gateway rechecks accounts each ten minutes and after a reload. Two rechecks must agree.
                while hub.registrations().count > 1 {
                    let fault = try await OperatorClient(path: directory.path + "/control.sock")
                        .perform(ControlRequest("reload")) { _ in }
                    #expect(fault == nil)
                }
                #expect(hub.registrations().map(\.handle) == [handles[1]])
                #expect(try await client.call("GET", "/auth/whoami", token: tokens[0]).status == 401)
                #expect(try await client.call("GET", "/auth/whoami", token: tokens[1]).status == 200)
                #expect(try await client.call("GET", "/auth/whoami", as: "alice", password: "right").status == 401)
            }
        }
    }

    @Test("A slow directory does not slow calls with tokens", .timeLimit(.minutes(5)))
    func slow() async throws {
        let logins = TestRun.count(full: 1000, otherwise: 300)
        let turns = 3
        let slapd = try Slapd((0..<logins).map { Slapd.user("user\($0)") }.joined())
        // Search and bind take a second each.
        try await DelayingProxy.run(to: slapd.socketPath, delay: .seconds(1)) { proxy in
            let directory = try TestFiles()
            try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
            let token = try IssuedTokens.alice(by: directory)
            let text =
                ConfiguredGateway.preamble + Self.configuration("ldap://127.0.0.1:\(proxy)", "timeout: 8s")
                + "  - \(IssuedTokens.configuration)\n"
            try directory.write(text, to: "gateway.yaml")
            _ = try await ServedProgram.run(in: directory) { gateway in
                let probe = TokenProbe(port: gateway.port, token: token)
                _ = try await probe.measure(for: .milliseconds(300))
                var measured: [(quiet: Latencies, meanwhile: Latencies)] = []
                var statuses: [Int: Int] = [:]
                for turn in 0..<turns {
                    let quiet = try await probe.measure(for: .seconds(2))
                    let isOver = Flag()
                    // A failed login must not leave the probe running.
                    defer { isOver.raise() }
                    async let calls = probe.measure { !isOver.isRaised }
                    let part = (turn * logins / turns)..<((turn + 1) * logins / turns)
                    let counts = try await Self.logIn(part, gateway.port)
                    isOver.raise()
                    measured.append((quiet, try await calls))
                    statuses.merge(counts, uniquingKeysWith: +)
                }
                print("Tokens while \(logins) LDAP logins took 2 s each: \(measured); statuses \(statuses)")
                #expect(statuses[200, default: 0] >= 4 * turns)
                #expect(Set(statuses.keys).isSubset(of: [200, 503]))
                // The slowest hundredth is a few calls of a turn, and other load on the machine may cause them.
                let slow = measured.count {
                    $0.meanwhile.percentile(99) > $0.quiet.percentile(99) * 1.1 + .milliseconds(50)
                }
                #expect(slow <= turns / 2, "\(measured)")
            }
        }
    }

    /// Logs in with the right password of each user, all at once and from different addresses. Returns the number of
    /// responses by status.
    private static func logIn(_ users: Range<Int>, _ port: Int) async throws -> [Int: Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for user in users {
                group.addTask {
                    let client = try RawClient(port: port, from: "127.1.\(user / 250).\(1 + user % 250)")
                    return try await client.call("GET", "/auth/whoami", as: "user\(user)", password: "right").status
                }
            }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
    }
}
