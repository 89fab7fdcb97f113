import Foundation
import GatewayTesting
import Synchronization
import Testing

@Suite("What becomes of tokens when the users file changes", .timeLimit(.minutes(5)))
struct ChangedAccountTests {
    private static let policy = """
        policy:
          send:
            - { from: "group:staff", to: "*" }

        """

    private static func token(_ gateway: GatewayUnderTest, _ user: String) async throws -> String {
        let answer = try await gateway.client.call("POST", "/auth/token", as: user)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
        return try #require(object["access_token"] as? String)
    }

    /// After what time the look says yes; 20 s where it never does.
    private static func time(until isOver: () async throws -> Bool) async throws -> Duration {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(20) {
            if try await isOver() { return ContinuousClock.now - start }
        }
        return .seconds(20)
    }

    @Test("A group that is taken away is taken from tokens within a second; the session goes on")
    func losesGroup() async throws {
        let time = try await TestRun.measure(below: .seconds(1)) {
            try await GatewayUnderTest.run(policy: Self.policy) { gateway in
                let token = try await Self.token(gateway, "bob")
                func send() async throws -> RawClient.Response {
                    try await gateway.client.call(
                        "POST", "/api/notifications?pns=apns&to_tag=alice", token: token, body: #""hi""#)
                }
                #expect(try await send().status == 200)
                try gateway.directory.write(
                    GatewayUnderTest.users.replacing(", groups: [staff]", with: ", groups: [other]"), to: "users.yaml")
                let time = try await Self.time { try await send().problem == "send-not-allowed" }
                let who = try await gateway.client.call("GET", "/auth/whoami", token: token)
                #expect(who.status == 200 && who.text.contains(#""groups":[]"#), "\(who.text)")
                let renewed = try await gateway.client.call("POST", "/auth/token", token: token)
                #expect(renewed.status == 200)
                let record = try await gateway.record { $0["result"] as? String == "groups-lost" }
                #expect(record["user"] as? String == "bob")
                return time
            }
        }
        print("A lost group was lost for a token after \(time)")
        #expect(time < .seconds(1))
    }

    /// A hash of carol's that takes some tenths of a second, and nobody's password.
    private static let costly = GatewayUnderTest.users.replacing(
        "$5$rounds=1000$carol", with: "$5$rounds=500000$carol"
    ).replacing("[staff]", with: "[staff, costly]")

    private static let aliceDisabled = costly.replacing(
        "hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3\"", with: "hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3\", disabled: true")

    @Test(
        "While wrong passwords of others keep all threads busy, an account that is disabled loses its tokens within a second"
    )
    func underFlood() async throws {
        func isGood(_ figure: (time: Duration, left: Int)) -> Bool { figure.time < .seconds(1) && figure.left > 0 }
        var (time, left) = try await Self.disableUnderFlood()
        for _ in 0..<2 where !isGood((time, left)) { (time, left) = try await Self.disableUnderFlood() }
        print("Under a flood of wrong passwords a token was refused after \(time); \(left) logins were still waiting")
        #expect(time < .seconds(1))
        #expect(left > 0)
    }

    private final class Answered: Sendable {
        let count = Atomic(0)
    }

    /// Disables an account while many wrong passwords wait for a thread; after what time its token was refused, and how many of
    /// those still waited then.
    private static func disableUnderFlood() async throws -> (Duration, Int) {
        try await GatewayUnderTest.run(policy: policy) { gateway in
            let token = try await token(gateway, "alice")
            // The hash that costs comes with a reload, so that the gateway starts at once.
            try gateway.directory.write(costly, to: "users.yaml")
            _ = try await time {
                try await gateway.client.call("GET", "/auth/whoami", as: "bob").text.contains("costly")
            }
            let port = try #require(gateway.client.port)
            let answered = Answered()
            return try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<60 {
                    tasks.addTask {
                        // From an address each: none has too many wrong passwords.
                        let client = try RawClient(port: port, from: "127.9.\(number).1")
                        _ = try await client.call(
                            "GET", "/auth/whoami", as: "carol", password: "wrong-\(number)")
                        answered.count.add(1, ordering: .relaxed)
                    }
                }
                // The flood is on once the first of them has cost what it costs.
                while answered.count.load(ordering: .relaxed) == 0 {
                    #expect(try await gateway.client.call("GET", "/auth/whoami", token: token).status == 200)
                }
                try gateway.directory.write(aliceDisabled, to: "users.yaml")
                let time = try await time {
                    try await gateway.client.call("GET", "/auth/whoami", token: token).status == 401
                }
                let left = 60 - answered.count.load(ordering: .relaxed)
                tasks.cancelAll()
                try? await tasks.waitForAll()
                return (time, left)
            }
        }
    }
}
