import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Many logins at once, and what is left for others.
    @Suite("Many logins at once")
    struct FairShareTests {
        @Test(
            "the delay of a failure holds no worker",
            .enabled(
                if: PAMModules.matrix != nil && PAMModules.failDelay != nil,
                "pam_matrix or pam_faildelay is not installed"))
        func failureDelay() async throws {
            let time = try await TestRun.measure(below: .seconds(1)) { try await Self.timeBesideDelays() }
            #expect(time < .seconds(1))
        }

        /// How long a right password takes beside many wrong ones.
        private static func timeBesideDelays() async throws -> Duration {
            let stack = try PAMStack()
            let delay = try #require(PAMModules.failDelay)
            try stack.useMatrix("nobody", before: "auth optional \(delay) delay=2000000")
            let authenticator = stack.authenticator { $0.queue = 400 }
            let clock = ContinuousClock()
            let start = clock.now
            let right = try await withThrowingTaskGroup(of: AuthenticationOutcome.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        await authenticator.login("nobody", "wrong", from: .documentation(UInt32(number % 50)))
                    }
                }
                // Some have been answered, so all have been sent; the right one comes from somewhere else meanwhile.
                #expect(try await group.next() == .rejected(.wrong))
                let before = clock.now
                #expect(await authenticator.login("nobody", "right", from: .documentation(200)).isGrant)
                let right = clock.now - before
                for try await answer in group { #expect(answer == .rejected(.wrong)) }
                return right
            }
            // Held for the delay, one worker alone would have had 25 logins of 2 s.
            #expect(clock.now - start < .seconds(10))
            await authenticator.stop()
            return right
        }

        @Test(
            "one address gets two workers and a quarter of the queue, and others are served meanwhile",
            .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
        func share() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "hang-for daemon")
            let authenticator = stack.authenticator {
                $0.deadline = .seconds(3)
                $0.workers = 3
                // That of daemon, for whom the module hangs.
                $0.minimumUID = 1
            }
            await withTaskGroup(of: AuthenticationOutcome.self) { group in
                for _ in 0..<100 {
                    group.addTask { await authenticator.login("daemon", "x", from: .documentation(1)) }
                }
                var answers: [AuthenticationOutcome: Int] = [:]
                for _ in 0..<82 { answers[await group.next() ?? .notMine, default: 0] += 1 }
                #expect(answers == [.unavailable(.busy): 82])
                for number in 0..<50 {
                    let place = Peer.documentation(UInt32(100 + number))
                    #expect(await authenticator.login("nobody", "x", from: place).isGrant)
                }
                // Who waited behind the two was dropped when the deadline passed, without a worker having been asked.
                for await answer in group { answers[answer, default: 0] += 1 }
                #expect(answers[.unavailable(.timedOut), default: 0] >= 16)
                #expect(answers[.unavailable(.timedOut), default: 0] + answers[.unavailable(.busy), default: 0] == 100)
            }
            await authenticator.stop()
            #expect(Leftovers.workers() == 0)
        }

        @Test("logins that wait when the authenticator stops are answered")
        func stopping() async throws {
            let stack = try PAMStack()
            let authenticator = stack.authenticator { $0.program = "/bin/cat" }
            await authenticator.stop()
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
        }
    }
}
