import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NotifyBackend
import StaticUsers
import Synchronization
import Testing

@Suite("Reloads of a running gateway")
struct ReloadTests {
    private static let send = "/api/notifications?pns=apns&to_tag=bob"

    @Test("100 reloads under load fail no call and keep the state of callers")
    func underLoad() async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { backend in
            try await ReloadingGateway.run(backend: "http://127.0.0.1:\(backend)") { gateway in
                let token = try IssuedTokens.alice(by: gateway.directory)
                let stop = Flag()
                let port = gateway.port
                async let calls = withThrowingTaskGroup(of: (good: Int, bad: [Int]).self) { tasks in
                    for number in 0..<4 {
                        tasks.addTask {
                            try await Blocking.run { try Self.load(port, token, sends: number % 2 == 0, until: stop) }
                        }
                    }
                    return try await tasks.reduce(into: (good: 0, bad: [Int]())) {
                        $0.good += $1.good
                        $0.bad += $1.bad
                    }
                }
                for round in 0..<100 {
                    try gateway.write(more: round % 2 == 0 ? "audiences: { oncall: [alice, bob] }" : "")
                    let (isTaken, problems) = try await gateway.reload()
                    #expect(isTaken && problems.isEmpty, "\(problems)")
                }
                stop.raise()
                let (good, bad) = try await calls
                #expect(bad.isEmpty)
                #expect(good > 100)
            }
        }
    }

    /// Sends calls until the flag is raised. Returns the number of responses with 200 and the other statuses.
    private static func load(
        _ port: Int, _ token: String, sends: Bool, until stop: Flag
    ) throws -> (good: Int, bad: [Int]) {
        let connection = try KeptConnection(port: port)
        let request =
            sends
            ? RawClient.request("POST", send, token: token, body: #""hello""#)
            : RawClient.request("GET", "/auth/whoami", as: "alice")
        var (good, bad) = (0, [Int]())
        while !stop.isRaised {
            let status = try connection.call(request).status
            if status == 200 { good += 1 } else { bad.append(status) }
        }
        return (good, bad)
    }

    @Test(
        "A call in flight completes with the old configuration and backend, and the next call uses the new ones"
    )
    func inFlight() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        try await PausedBackend.run {
            arrival.yield()
        } whileServing: { held in
            try await ScriptedServer.run { _ in
                [.write(ScriptedServer.ok(""))]
            } _: { other in
                try await ReloadingGateway.run(backend: "http://127.0.0.1:\(held.port)") { gateway in
                    let client = try RawClient(port: gateway.port)
                    async let first = client.call("POST", Self.send, as: "alice", body: #""held""#)
                    for await _ in arrivals { break }
                    try gateway.write(backend: "http://127.0.0.1:\(other.port)")
                    #expect(try await gateway.reload().isTaken)
                    // The new backend serves this call while the old one still holds a call.
                    #expect(try await client.call("POST", Self.send, as: "alice", body: #""new""#).status == 200)
                    try gateway.write(ReloadingGateway.sendsRefused, backend: "http://127.0.0.1:\(other.port)")
                    #expect(try await gateway.reload().isTaken)
                    let refused = try await client.call("POST", Self.send, as: "alice", body: #""refused""#)
                    #expect(refused.problem == "send-not-allowed")
                    held.release()
                    #expect(try await first.status == 200)
                    // No call uses the old backend any more, so the gateway closes its connections.
                    await held.isLeft()
                }
            }
        }
    }

    @Test(
        "A reload rejects an invalid configuration within a second, lists each problem and keeps the old configuration")
    func mistakes() async throws {
        try await ReloadingGateway.run(backend: "http://127.0.0.1:9") { gateway in
            let client = try RawClient(port: gateway.port)
            try gateway.directory.write("users: { alice: { hash: x } }", to: "other-users.yaml")
            let text = ReloadingGateway.text(backend: "http://127.0.0.1:9", ReloadingGateway.sendsRefused)
                .replacing("limits: []", with: "limits: [{ name: a, per: user, rate: 60/mim }]")
            try gateway.directory.write(text + "\nsurplus: 1", to: "gateway.yaml")
            let time = try await TestRun.measure(below: .seconds(1)) {
                let start = ContinuousClock.now
                let syntax = try await gateway.reload()
                let time = ContinuousClock.now - start
                #expect(!syntax.isTaken)
                #expect(Set(syntax.problems.map { $0.prefix { $0 != ":" } }) == ["limits[0].rate", "surplus"])
                return time
            }
            #expect(time < .seconds(1))

            // One reload reports both the settings that need a restart and the problem that an authenticator finds in
            // its file.
            try gateway.directory.write(
                ReloadingGateway.text(backend: "http://127.0.0.1:9", ReloadingGateway.sendsRefused)
                    .replacing("users.yaml", with: "other-users.yaml")
                    .replacing("file: ledger.sqlite", with: "file: elsewhere.sqlite")
                    .replacing(
                        #"listen: [{ address: "127.0.0.1:0" }]"#, with: #"listen: [{ address: "127.0.0.2:0" }]"#),
                to: "gateway.yaml")
            let values = try await gateway.reload()
            #expect(!values.isTaken)
            let restarts = values.problems.filter { $0.contains("needs a restart") }.map { $0.prefix { $0 != ":" } }
            #expect(restarts == ["listen", "ledger.file"])
            #expect(values.problems.count == 3, "\(values.problems)")

            // The policy still allows sends of alice: the call reaches the forward phase, where the backend is
            // unreachable.
            let sent = try await client.call("POST", Self.send, as: "alice", body: #""hello""#)
            #expect(sent.problem == "backend-unreachable")
            try gateway.write(ReloadingGateway.sendsRefused)
            #expect(try await gateway.reload().isTaken)
            #expect(
                try await client.call("POST", Self.send, as: "alice", body: #""hello""#).problem == "send-not-allowed")
        }
    }

    @Test("A reload after the removal of the last user revokes all users, and a truncated users file is rejected")
    func lastUser() async throws {
        try await ReloadingGateway.run(backend: "http://127.0.0.1:9") { gateway in
            let client = try RawClient(port: gateway.port)
            let issued = try await client.call("POST", "/auth/token", as: "alice")
            let answer = try #require(try JSONSerialization.jsonObject(with: Data(issued.body)) as? [String: Any])
            let token = try #require(answer["access_token"] as? String)
            try UsersFile.edit(gateway.directory.path + "/users.yaml", names: NameRules()) {
                users throws(ConfigurationError) in
                for user in users.users { try users.remove(user.name) }
            }
            #expect(try await gateway.reload().isTaken)
            #expect(try await client.call("GET", "/auth/whoami", as: "alice").status == 401)
            #expect(try await client.call("GET", "/auth/whoami", token: token).status == 401)
            // The rest of the configuration can be reloaded too.
            try gateway.write(ReloadingGateway.sendsRefused)
            #expect(try await gateway.reload().isTaken)

            try gateway.directory.write("", to: "users.yaml")
            let truncated = try await gateway.reload()
            #expect(!truncated.isTaken)
            #expect(truncated.problems.count == 1 && truncated.problems[0].contains("write `users: {}` into it"))
            try gateway.directory.write(GatewayUnderTest.users, to: "users.yaml")
            #expect(try await gateway.reload().isTaken)
            #expect(try await client.call("GET", "/auth/whoami", as: "alice").status == 200)
        }
    }

    @Test("Users who are missing in the new configuration lose their grants, and new users can log in")
    func users() async throws {
        try await ReloadingGateway.run(backend: "http://127.0.0.1:9") { gateway in
            let client = try RawClient(port: gateway.port)
            #expect(try await client.call("GET", "/auth/whoami", as: "alice").status == 200)
            #expect(try await client.call("GET", "/auth/whoami", as: "bob").status == 200)
            let issued = try await client.call("POST", "/auth/token", as: "alice")
            let answer = try #require(try JSONSerialization.jsonObject(with: Data(issued.body)) as? [String: Any])
            let token = try #require(answer["access_token"] as? String)
            let lines = GatewayUnderTest.users.split(separator: "\n").filter { !$0.contains("alice") }
            try gateway.directory.write(lines.joined(separator: "\n"), to: "fewer.yaml")
            try gateway.directory.write(
                ReloadingGateway.text(backend: "http://127.0.0.1:9").replacing("users.yaml", with: "fewer.yaml"),
                to: "gateway.yaml")
            #expect(try await gateway.reload().isTaken)
            #expect(try await client.call("GET", "/auth/whoami", as: "alice").status == 401)
            #expect(try await client.call("GET", "/auth/whoami", token: token).status == 401)
            #expect(try await client.call("GET", "/auth/whoami", as: "bob").status == 200)
            // The gateway now reads the new users file.
            try gateway.directory.write(GatewayUnderTest.users, to: "fewer.yaml")
            #expect(try await gateway.reload().isTaken)
            #expect(try await client.call("GET", "/auth/whoami", as: "alice").status == 200)
        }
    }
}
