import Foundation

/// Presents one token again and again at an even pace, on a connection and a thread of its own, and takes the time of each call.
struct TokenProbe: Sendable {
    let port: Int
    let token: String
    /// From one call to the next.
    var pace: Duration = .milliseconds(2)

    /// Goes on for as long as the closure says. Every call must be answered with 200.
    func measure(while isWanted: @escaping @Sendable () -> Bool) async throws -> Latencies {
        try await Blocking.run { try measured(while: isWanted) }
    }

    /// Goes on for some time.
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
            // The pace of the calls, and nothing that is waited for.
            let rest = next - ContinuousClock.now
            if rest > .zero { Thread.sleep(forTimeInterval: rest / .seconds(1)) }
        }
        return Latencies(durations)
    }

    struct Refused: Error {
        let status: Int
    }
}
