import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Workers that another service owns.
    @Suite("Worker service", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
    struct WorkerServiceTests {
        /// Whoever logs in now has the only worker that there is.
        private func expectOneWorker(of service: WorkerServiceProcess, _ stack: PAMStack) async throws {
            try stack.useModule(auth: "succeed")
            let last = service.authenticator()
            #expect(await last.login("nobody", "x").isGrant)
            #expect(service.workers == 1)
            await last.stop()
        }

        @Test("logins, crashes and hangs, and a service that comes back")
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

            first.end()
            let second = try WorkerServiceProcess(stack)
            // A login that meets a worker in the act of ending fails with it; each of the two connections can meet one.
            var answers: [Bool] = []
            while answers.count < 3, answers.last != true {
                answers.append(await authenticator.login("nobody", "secret").isGrant)
            }
            #expect(answers.last == true)
            await authenticator.stop()
            try await expectOneWorker(of: second, stack)
        }

        @Test("a worker that hangs is killed when the gateway hangs up")
        func hang() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "hang-in-child")
            let service = try WorkerServiceProcess(stack)
            let authenticator = service.authenticator { $0.deadline = .milliseconds(100) }
            for _ in 0..<20 { #expect(await authenticator.login("nobody", "x") == .unavailable(.timedOut)) }
            await authenticator.stop()
            #expect(Leftovers.sockets() == 0)
            try await expectOneWorker(of: service, stack)
            service.end()
            #expect(stack.lastingProcesses() == 0)
        }

        @Test("the stack is the service's: a request for another one is refused")
        func otherService() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "succeed")
            try stack.write("auth required pam_permit.so\naccount required pam_permit.so", to: "sudo")
            let service = try WorkerServiceProcess(stack)
            let authenticator = service.authenticator { $0.service = "sudo" }
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            await authenticator.stop()
        }

        @Test("other users are not served", .enabled(if: SystemTools.isRoot, "needs root"))
        func otherUsers() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "succeed")
            let service = try WorkerServiceProcess(stack, allow: 65_534)
            let authenticator = service.authenticator()
            // Root may open the socket's file, and is not the one that it is for.
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            #expect(service.workers == 0)
            await authenticator.stop()
        }

        @Test("without a service the login is unavailable")
        func notThere() async throws {
            let stack = try PAMStack()
            let authenticator = stack.authenticator { $0.socket = "\(stack.path)/none.sock" }
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            await authenticator.stop()
        }
    }
}
