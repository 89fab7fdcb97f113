import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import PAM

extension WorkerTests {
    /// Modules that crash or hang their process, or try to harm the gateway.
    @Suite("Broken modules", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
    struct BrokenModuleTests {
        private static func attack(
            _ auth: String, deadline: Duration, account: String = "succeed"
        ) async throws
            -> [AuthenticationOutcome: Int]
        {
            let stack = try PAMStack()
            try stack.useModule(auth: auth, account: account)
            let authenticator = stack.authenticator {
                $0.deadline = deadline
                $0.queue = 4096
                $0.backOff = Backoff(initialDelay: .milliseconds(1), maximumDelay: .milliseconds(2))
            }
            var answers: [AuthenticationOutcome: Int] = [:]
            await withTaskGroup(of: AuthenticationOutcome.self) { group in
                // Eight at a time, so that each login gets a worker before its deadline.
                for number in 0..<repetitions {
                    if number >= 8, let answer = await group.next() { answers[answer, default: 0] += 1 }
                    group.addTask { await authenticator.login("nobody", "x", from: .documentation(UInt32(number % 8))) }
                }
                for await answer in group { answers[answer, default: 0] += 1 }
            }
            await authenticator.stop()
            #expect(answers.values.reduce(0, +) == repetitions)
            #expect(Leftovers.workers() == 0)
            #expect(Leftovers.sockets() == 0)
            #expect(stack.remainingProcesses() == 0)
            return answers
        }

        @Test("A login times out if a module hangs", arguments: ["hang", "hang-in-child"])
        func hang(_ word: String) async throws {
            let answers = try await Self.attack(word, deadline: .milliseconds(100))
            let hanging = answers[.unavailable(.timedOut)] ?? 0
            // On a busy machine a login may still wait for a worker at its deadline.
            #expect(hanging > 0 && hanging + (answers[.unavailable(.busy)] ?? 0) == repetitions, "\(answers)")
        }

        @Test(
            "A login is unavailable if a module crashes, exits, or closes the worker's socket or writes to it",
            arguments: [
                "segfault", "exit", "close", "speak",
            ])
        func crash(_ word: String) async throws {
            #expect(try await Self.attack(word, deadline: .seconds(60)) == [.unavailable(.failed): repetitions])
        }

        @Test("A login is unavailable if a module crashes after the password was verified")
        func crashInAccount() async throws {
            let answers = try await Self.attack("succeed", deadline: .seconds(60), account: "segfault")
            #expect(answers == [.unavailable(.failed): repetitions])
        }

        @Test("A module that prints garbage does not affect the login")
        func garbage() async throws {
            #expect(try await Self.attack("print", deadline: .seconds(60)) == [.rejected(.wrong): repetitions])
        }

        @Test("A login after a crash works")
        func recovery() async throws {
            let stack = try PAMStack()
            let authenticator = stack.authenticator { $0.workers = 1 }
            for word in ["segfault", "exit", "speak", "close"] {
                try stack.useModule(auth: word)
                #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
                try stack.useModule(auth: "succeed")
                #expect(await authenticator.login("nobody", "x").isGrant)
            }
            await authenticator.stop()
        }

        @Test(
            "A login is unavailable if the worker program is missing or is not a worker",
            arguments: ["/bin/true", "/bin/cat", "/nonexistent"])
        func noWorker(_ program: String) async throws {
            let stack = try PAMStack("auth required pam_permit.so\naccount required pam_permit.so")
            let authenticator = stack.authenticator {
                $0.program = program
                $0.deadline = .seconds(5)
            }
            // A program that does not start has not read the password.
            let reason: OutageReason = program == "/nonexistent" ? .unreachable : .failed
            for _ in 0..<3 { #expect(await authenticator.login("nobody", "x") == .unavailable(reason)) }
            await authenticator.stop()
            #expect(Leftovers.sockets() == 0)
        }
    }
}
