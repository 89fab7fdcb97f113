import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Workers of a worker service.
    @Suite("Worker service", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
    struct WorkerServiceTests {
        /// Logs in once and checks that this login's worker is the service's only one.
        private func expectOneWorker(of service: WorkerServiceProcess, _ stack: PAMStack) async throws {
            try stack.useModule(auth: "succeed")
            let last = service.authenticator()
            #expect(await last.login("nobody", "x").isGrant)
            #expect(service.workers == 1)
            await last.stop()
        }

        @Test("Logins work, survive crashes, and work again after a restart of the service")
        func logins() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "password secret")
            let first = try WorkerServiceProcess(stack)
            let authenticator = first.authenticator()
            for _ in 0..<5 {
                #expect(await authenticator.login("nobody", "secret").isGrant)
                #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong))
            }
            try stack.useModule(auth: "segfault")
            for _ in 0..<5 { #expect(await authenticator.login("nobody", "secret") == .unavailable(.failed)) }
            try stack.useModule(auth: "password secret")
            #expect(await authenticator.login("nobody", "secret").isGrant)

            first.terminate()
            let second = try WorkerServiceProcess(stack)
            // A login on a connection that is just closing fails; each of the two connections can cause one failure.
            var answers: [Bool] = []
            while answers.count < 3, answers.last != true {
                answers.append(await authenticator.login("nobody", "secret").isGrant)
            }
            #expect(answers.last == true)
            await authenticator.stop()
            try await expectOneWorker(of: second, stack)
        }

        @Test("A worker that hangs is killed when the gateway disconnects")
        func hang() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "hang-in-child")
            let service = try WorkerServiceProcess(stack)
            let authenticator = service.authenticator { $0.deadline = .milliseconds(100) }
            for _ in 0..<20 { #expect(await authenticator.login("nobody", "x") == .unavailable(.timedOut)) }
            await authenticator.stop()
            #expect(Leftovers.sockets() == 0)
            try await expectOneWorker(of: service, stack)
            service.terminate()
            #expect(stack.remainingProcesses() == 0)
        }

        @Test("A request for another PAM service than the worker service's is rejected")
        func otherService() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "succeed")
            try stack.write("auth required pam_permit.so\naccount required pam_permit.so", to: "sudo")
            let service = try WorkerServiceProcess(stack)
            let authenticator = service.authenticator { $0.service = "sudo" }
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            await authenticator.stop()
        }

        @Test("Other users are not served", .enabled(if: SystemTools.isRoot, "needs root"))
        func otherUsers() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "succeed")
            let service = try WorkerServiceProcess(stack, allow: 65_534)
            let authenticator = service.authenticator()
            // Root can open the socket, but is not the allowed user.
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            #expect(service.workers == 0)
            await authenticator.stop()
        }

        @Test("Without a worker service the login is unavailable")
        func notThere() async throws {
            let stack = try PAMStack()
            let authenticator = stack.authenticator { $0.socket = "\(stack.path)/none.sock" }
            #expect(await authenticator.login("nobody", "x") == .unavailable(.unreachable))
            await authenticator.stop()
        }
    }
}
