import Foundation
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@Suite("Tokens after a change of the users file", .timeLimit(.minutes(5)))
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

    /// Returns the time until the closure returns true, or 20 s if it never does.
    private static func time(until isOver: () async throws -> Bool) async throws -> Duration {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(20) {
            if try await isOver() { return ContinuousClock.now - start }
        }
        return .seconds(20)
    }

    @Test("A token loses a removed group within a second, and its session continues")
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
        print("A token lost a removed group after \(time)")
        #expect(time < .seconds(1))
    }

    /// A users file in which the hash of carol takes some tenths of a second to verify.
    private static let costly = GatewayUnderTest.users.replacing(
        "$5$rounds=1000$carol", with: "$5$rounds=500000$carol"
    ).replacing("[staff]", with: "[staff, costly]")

    private static let aliceDisabled = costly.replacing(
        "hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3\"", with: "hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3\", disabled: true")

    @Test(
        "A disabled account loses its tokens within a second while wrong passwords occupy all verification threads"
    )
    func underFlood() async throws {
        func isGood(_ figure: (time: Duration, left: Int)) -> Bool { figure.time < .seconds(1) && figure.left > 0 }
        var (time, left) = try await Self.disableUnderFlood()
        for _ in 0..<2 where !isGood((time, left)) { (time, left) = try await Self.disableUnderFlood() }
        print("A token was rejected under a flood of wrong passwords after \(time); \(left) logins were still waiting")
        #expect(time < .seconds(1))
        #expect(left > 0)
    }

    private final class Answered: Sendable {
        let count = Atomic(0)
    }

    /// Disables an account while many wrong passwords wait for a thread. Returns the time until its token was rejected
    /// and the number of passwords that still waited.
    private static func disableUnderFlood() async throws -> (Duration, Int) {
        try await GatewayUnderTest.run(policy: policy) { gateway in
            let token = try await token(gateway, "alice")
            // A reload brings the expensive hash, so that the gateway starts quickly.
            try gateway.directory.write(costly, to: "users.yaml")
            _ = try await time {
                try await gateway.client.call("GET", "/auth/whoami", as: "bob").text.contains("costly")
            }
            let port = try #require(gateway.client.port)
            let answered = Answered()
            return try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<60 {
                    tasks.addTask {
                        // Each login has its own address, so that the login throttle does not apply.
                        let client = try RawClient(port: port, from: "127.9.\(number).1")
                        _ = try await client.call(
                            "GET", "/auth/whoami", as: "carol", password: "wrong-\(number)")
                        answered.count.add(1, ordering: .relaxed)
                    }
                }
                // The flood has begun when the first verification is complete.
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
