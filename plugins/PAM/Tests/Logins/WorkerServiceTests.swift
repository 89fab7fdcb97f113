import Foundation
import GatewayCore
import Testing

@testable import PAM

extension WorkerTests {
    /// Workers that another service owns.
    @Suite("Worker service", .enabled(if: Tools.compiler != nil, "there is no C compiler"))
    struct WorkerServiceTests {
        /// A service that runs until the value goes.
        private final class Service {
            let socket: String
            private let process = Process()

            init(_ stack: TestStack, allow: uid_t) throws {
                socket = "\(stack.path)/worker.sock"
                process.executableURL = URL(filePath: Tools.program)
                process.arguments = [
                    "pam-worker", "--listen", socket, "--allow", "\(allow)", "--service", TestStack.service,
                    "--service-directory", stack.path,
                ]
                let errors = Pipe()
                process.standardError = errors
                try process.run()
                // Its first line says that it listens.
                let line = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
                try #require(line.contains("serves"), "\(line)")
            }

            deinit { end() }

            /// As a service manager would; its socket stays behind.
            func end() {
                process.terminate()
                process.waitUntilExit()
            }

            var pid: Int32 { process.processIdentifier }

            /// Waits until it has no workers any more.
            func isRidOfWorkers() async -> Bool {
                for _ in 0..<10_000 {
                    let path = "/proc/\(pid)/task/\(pid)/children"
                    guard let children = try? String(contentsOfFile: path, encoding: .utf8) else { return false }
                    if children.allSatisfy(\.isWhitespace) { return true }
                    usleep(1000)
                }
                return false
            }
        }

        private func authenticator(
            _ service: Service, _ change: (inout PAMPlugin.Settings) -> Void = { _ in }
        ) -> PAMAuthenticator {
            var settings = PAMPlugin.Settings(service: TestStack.service)
            settings.socket = service.socket
            settings.workers = 2
            settings.program = "/nonexistent"
            change(&settings)
            return PAMAuthenticator(settings, context: testContext())
        }

        @Test("logins, crashes and hangs, and a service that comes back")
        func logins() async throws {
            let stack = try TestStack()
            try stack.useModule(auth: "password secret")
            let first = try Service(stack, allow: geteuid())
            let authenticator = authenticator(first)
            for _ in 0..<5 {
                #expect(await authenticator.login("nobody", "secret").isGrant)
                #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong))
            }
            try stack.useModule(auth: "segfault")
            for _ in 0..<5 { #expect(await authenticator.login("nobody", "secret") == .unavailable(.failed)) }
            try stack.useModule(auth: "password secret")
            #expect(await authenticator.login("nobody", "secret").isGrant)

            first.end()
            let second = try Service(stack, allow: geteuid())
            // A login that meets a worker in the act of ending fails with it; each of the two connections can meet one.
            var answers: [Bool] = []
            while answers.count < 3, answers.last != true {
                answers.append(await authenticator.login("nobody", "secret").isGrant)
            }
            #expect(answers.last == true)
            await authenticator.stop()
            #expect(await second.isRidOfWorkers())
        }

        @Test("a worker that hangs is killed when the gateway hangs up")
        func hang() async throws {
            let stack = try TestStack()
            try stack.useModule(auth: "hang-in-child")
            let service = try Service(stack, allow: geteuid())
            let authenticator = authenticator(service) { $0.deadline = .milliseconds(100) }
            for _ in 0..<20 { #expect(await authenticator.login("nobody", "x") == .unavailable(.timedOut)) }
            await authenticator.stop()
            #expect(await service.isRidOfWorkers())
            #expect(Leftovers.sockets() == 0)
            service.end()
            #expect(Leftovers.processes(of: stack) == 0)
        }

        @Test("the stack is the service's: a request for another one is refused")
        func otherService() async throws {
            let stack = try TestStack()
            try stack.useModule(auth: "succeed")
            try stack.write("auth required pam_permit.so\naccount required pam_permit.so", to: "sudo")
            let service = try Service(stack, allow: geteuid())
            let authenticator = authenticator(service) { $0.service = "sudo" }
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            await authenticator.stop()
        }

        @Test("other users are not served", .enabled(if: Tools.isRoot, "needs root"))
        func otherUsers() async throws {
            let stack = try TestStack()
            try stack.useModule(auth: "succeed")
            let service = try Service(stack, allow: 65_534)
            let authenticator = authenticator(service)
            // Root may open the socket's file, and is not the one that it is for.
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            await authenticator.stop()
            #expect(await service.isRidOfWorkers())
        }

        @Test("without a service the login is unavailable")
        func notThere() async throws {
            let stack = try TestStack()
            let authenticator = stack.authenticator { $0.socket = "\(stack.path)/none.sock" }
            #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
            await authenticator.stop()
        }
    }
}
