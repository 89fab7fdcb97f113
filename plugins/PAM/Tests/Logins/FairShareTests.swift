import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Many concurrent logins, and their effect on others.
    @Suite("Many logins at once")
    struct FairShareTests {
        @Test(
            "The delay after a failure does not occupy a worker",
            .enabled(
                if: PAMModules.matrix != nil && PAMModules.failDelay != nil,
                "pam_matrix or pam_faildelay is not installed"))
        func failureDelay() async throws {
            let time = try await TestRun.measure(below: .seconds(1)) { try await Self.timeBesideDelays() }
            #expect(time < .seconds(1))
        }

        /// Returns the duration of a login with the correct password during many logins with wrong ones.
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
                // One has completed, so all have been sent. The correct password comes from another address.
                #expect(try await group.next() == .rejected(.wrong))
                let before = clock.now
                #expect(await authenticator.login("nobody", "right", from: .documentation(200)).isGrant)
                let right = clock.now - before
                for try await answer in group { #expect(answer == .rejected(.wrong)) }
                return right
            }
            // If the delay held a worker, each of the 4 workers would need 2 s for each of its 25 logins.
            #expect(clock.now - start < .seconds(10))
            await authenticator.stop()
            return right
        }

        @Test(
            "One address uses at most two workers and a quarter of the queue, and others are served meanwhile",
            .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
        func share() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "hang-for daemon")
            let authenticator = stack.authenticator {
                $0.deadline = .seconds(3)
                $0.workers = 3
                // Admits daemon, for whom the module hangs.
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
                // Logins that waited in the queue until the deadline reached no worker.
                for await answer in group { answers[answer, default: 0] += 1 }
                #expect(answers[.unavailable(.timedOut), default: 0] >= 2)
                #expect(answers[.unavailable(.timedOut), default: 0] + answers[.unavailable(.busy), default: 0] == 100)
            }
            await authenticator.stop()
            #expect(Leftovers.workers() == 0)
        }

        @Test("A login on a stopped authenticator is unavailable")
        func stopping() async throws {
            let stack = try PAMStack()
            let authenticator = stack.authenticator { $0.program = "/bin/cat" }
            await authenticator.stop()
            #expect(await authenticator.login("nobody", "x") == .unavailable(.unreachable))
        }
    }
}
