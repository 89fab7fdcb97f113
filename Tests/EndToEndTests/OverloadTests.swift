import Foundation
import NIOCore
import Testing

/// More calls than the limits admit, in front of a backend that holds its responses until the test releases them.
@Suite("Overload", .serialized, .timeLimit(.minutes(5)))
struct OverloadTests {
    private static let send = "/api/notifications?pns=apns&to_tag=bob"
    /// The number of calls that the backend connections admit: half of them in flight, half of them waiting.
    private static let room = 4 * System.coreCount

    private static func configuration(calls: Int) -> String {
        """
        limits: []
        overload: { calls: \(calls) }
        """
    }

    private static func bytes(_ method: String, _ target: String, body: String) -> String {
        let credential = Data("alice:alice".utf8).base64EncodedString()
        return "\(method) \(target) HTTP/1.1\r\nHost: gateway\r\nAuthorization: Basic \(credential)\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private static let call = bytes("POST", send, body: #""x""#)

    @Test("The gateway rejects calls beyond the backend limits immediately and completes the others")
    func backend() async throws {
        try await PausedBackend.run { backend in
            try await GatewayUnderTest.run(
                backend: "http://127.0.0.1:\(backend.port)",
                backendKeys: ", connections: \(Self.room / 2), waiting: \(Self.room / 2)",
                more: Self.configuration(calls: 10_000)
            ) { gateway in
                // The password is cached from here on, so that verification takes no time.
                #expect(try await gateway.client.call("GET", "/auth/whoami", as: "alice").status == 200)
                let (client, start) = (gateway.client, ContinuousClock.now)
                try await withThrowingTaskGroup(of: (RawClient.Response, Duration).self) { calls in
                    for _ in 0..<2 * Self.room {
                        calls.addTask { (try await client.send(Self.call), ContinuousClock.now - start) }
                    }
                    // The backend does not respond yet, so each response is a rejection.
                    for _ in 0..<Self.room { Self.expectOverloaded(try await calls.next()?.0) }
                    let written = try gateway.journal().count { $0["kind"] as? String == "intent" }

                    // A rejection during overload sends, writes and awaits nothing.
                    let port = try #require(gateway.client.port)
                    let latencies = try await Blocking.run {
                        let connection = try KeptConnection(port: port)
                        return try (0..<50).map { _ in
                            let start = ContinuousClock.now
                            Self.expectOverloaded(try connection.call(Self.call))
                            return ContinuousClock.now - start
                        }
                    }
                    #expect(Latencies(latencies).percentile(50) < .milliseconds(10), "\(Latencies(latencies))")
                    #expect(try gateway.journal().count { $0["kind"] as? String == "intent" } == written)
                    // A call without the backend is served as before.
                    #expect(try await gateway.client.call("GET", "/auth/whoami", as: "alice").status == 200)

                    backend.release()
                    for _ in 0..<Self.room { #expect(try await calls.next()?.0.status == 200) }
                }
                // When capacity is free, sends succeed again.
                #expect(try await gateway.client.send(Self.call).status == 200)
                #expect(backend.requests == Self.room + 1)
            }
        }
    }

    @Test(
        "The gateway rejects calls beyond the limit of calls in flight and serves calls that need no backend"
    )
    func callsInFlight() async throws {
        try await PausedBackend.run { backend in
            try await GatewayUnderTest.run(
                backend: "http://127.0.0.1:\(backend.port)", more: Self.configuration(calls: 5)
            ) { gateway in
                #expect(try await gateway.client.call("GET", "/auth/whoami", as: "alice").status == 200)
                let client = gateway.client
                try await withThrowingTaskGroup(of: RawClient.Response.self) { calls in
                    for _ in 0..<10 { calls.addTask { try await client.send(Self.call) } }
                    // These calls waited until a timeout. Later calls do not wait.
                    for _ in 0..<5 { Self.expectOverloaded(try await calls.next()) }
                    let port = try #require(gateway.client.port)
                    let latencies = try await Blocking.run {
                        let connection = try KeptConnection(port: port)
                        for target in ["/auth/whoami", "/nowhere"] {
                            let response = try connection.call(Self.bytes("GET", target, body: ""))
                            #expect(response.status == (target == "/nowhere" ? 404 : 200))
                        }
                        return try (0..<50).map { _ in
                            let start = ContinuousClock.now
                            Self.expectOverloaded(try connection.call(Self.call))
                            return ContinuousClock.now - start
                        }
                    }
                    #expect(Latencies(latencies).percentile(50) < .milliseconds(10), "\(Latencies(latencies))")
                    backend.release()
                    for _ in 0..<5 { #expect(try await calls.next()?.status == 200) }
                }
                #expect(try await gateway.client.send(Self.call).status == 200)
            }
        }
    }

    private static func expectOverloaded(_ response: RawClient.Response?) {
        #expect(response?.status == 503 && response?.problem == "overloaded")
        #expect(response?.field("Retry-After") == "1")
    }
}
