import Foundation

/// A probe that presents a token at a constant rate, on a connection and a thread of its own, and measures each call.
struct TokenProbe: Sendable {
    let port: Int
    let token: String
    /// The interval between the starts of two calls.
    var pace: Duration = .milliseconds(2)

    /// Measures while the closure returns true. Throws if a response is not 200.
    func measure(while isWanted: @escaping @Sendable () -> Bool) async throws -> Latencies {
        try await Blocking.run { try measured(while: isWanted) }
    }

    /// Measures for a duration.
    func measure(for time: Duration) async throws -> Latencies {
        let end = ContinuousClock.now + time
        return try await measure { ContinuousClock.now < end }
    }

    private func measured(while isWanted: () -> Bool) throws -> Latencies {
        let connection = try KeptConnection(port: port)
        let request = RawClient.request("GET", "/auth/whoami", token: token)
        var durations: [Duration] = []
        var next = ContinuousClock.now
        while isWanted() {
            let start = ContinuousClock.now
            let status = try connection.call(request).status
            durations.append(ContinuousClock.now - start)
            guard status == 200 else { throw Refused(status: status) }
            next = max(next + pace, start)
            // The sleep sets the rate of the calls and awaits no event.
            let rest = next - ContinuousClock.now
            if rest > .zero { Thread.sleep(forTimeInterval: rest / .seconds(1)) }
        }
        return Latencies(durations)
    }

    struct Refused: Error {
        let status: Int
    }
}
