import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import PAM

extension WorkerTests {
    /// Modules that change their worker's process, or leave processes behind.
    @Suite("Changed workers", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
    struct ChangedWorkerTests {
        @Test(
            "A worker whose limits, directory, umask or signals a module changed is replaced, and the login is accepted",
            arguments: ["limit", "chdir /", "chdir /tmp", "umask", "block"])
        func harmless(_ word: String) async throws {
            let stack = try PAMStack()
            let authenticator = stack.authenticator { $0.workers = 1 }
            try stack.useModule(auth: "succeed")
            #expect(await authenticator.login("nobody", "x").isGrant)
            #expect(Leftovers.workers() == 1)
            for _ in 0..<3 {
                try stack.useModule(auth: word)
                #expect(await authenticator.login("nobody", "x").isGrant)
                // If the tests run in that directory, nothing has changed.
                let isChange = word != "chdir \(FileManager.default.currentDirectoryPath)"
                #expect(Leftovers.workers() == (isChange ? 0 : 1))
            }
            try stack.useModule(auth: "succeed")
            #expect(await authenticator.login("nobody", "x").isGrant)
            await authenticator.stop()
            #expect(Leftovers.workers() == 0)
        }

        @Test(
            "A login is unavailable if a module changed the root directory or the user of its worker",
            .enabled(if: SystemTools.isRoot, "needs root"),
            arguments: ["chroot", "become 65534", "groups 65534"], [true, false])
        func misleading(_ word: String, inAuth: Bool) async throws {
            let stack = try PAMStack()
            // In the other root directory the uid of nobody is above the minimum.
            try FileManager.default.createDirectory(atPath: stack.path + "/etc", withIntermediateDirectories: true)
            try stack.write("nobody:x:1000:1000::/:/bin/sh", to: "etc/passwd")
            let word = word == "chroot" ? "chroot \(stack.path)" : word
            let authenticator = stack.authenticator { $0.workers = 1 }
            for _ in 0..<2 {
                try stack.useModule(auth: inAuth ? word : "succeed", account: inAuth ? "succeed" : word)
                #expect(await authenticator.login("nobody", "x") == .unavailable(.failed))
                #expect(Leftovers.workers() == 0)
                try stack.useModule(auth: "succeed")
                #expect(await authenticator.login("nobody", "x").isGrant)
            }
            await authenticator.stop()
        }

        @Test(
            "Processes that modules leave in their own sessions are killed with the worker",
            arguments: ["daemon", "daemon-and-hang"])
        func daemons(_ word: String) async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: word)
            let authenticator = stack.authenticator {
                $0.workers = 4
                $0.loginsPerWorker = 3
                $0.deadline = word == "daemon" ? .seconds(60) : .milliseconds(300)
            }
            for number in 0..<12 {
                let answer = await authenticator.login("nobody", "x", from: .documentation(UInt32(number)))
                #expect(answer.isGrant == (word == "daemon"))
            }
            await authenticator.stop()
            #expect(Leftovers.workers() == 0)
            #expect(stack.remainingProcesses() == 0)
        }

        @Test("They are also killed if the worker or the worker service is killed")
        func killed() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "daemon")
            let authenticator = stack.authenticator { $0.workers = 1 }
            #expect(await authenticator.login("nobody", "x").isGrant)
            #expect(stack.remainingProcesses(maximumWait: .zero) > 2)
            #expect(Leftovers.killWorkers() == 1)
            await authenticator.stop()
            #expect(stack.remainingProcesses() == 0)

            let service = try WorkerServiceProcess(stack)
            let remote = service.authenticator { $0.workers = 1 }
            #expect(await remote.login("nobody", "x").isGrant)
            service.kill()
            #expect(stack.remainingProcesses() == 0)
            await remote.stop()
        }

        @Test("Modules are not called for root or an account with a uid below the minimum, under any name")
        func tooLow() async throws {
            let stack = try PAMStack()
            let file = stack.path + "/asked"
            let module = try stack.misbehavingModule()
            try stack.write(
                """
                auth required \(module) note \(file)
                auth required \(module) succeed
                account required \(module) note \(file)
                account required \(module) succeed
                """)
            let names = NameRules(suffixes: ["@example.com"])
            let authenticator = stack.authenticator(.inRealTime(names: names)) {
                $0.workers = 1
                $0.minimumUID = 1000
            }
            for login in ["root", "daemon", "ROOT", "root@example.com"] {
                #expect(await authenticator.login(login, "x", names: names) == .rejected(.wrong), "\(login)")
            }
            #expect(await authenticator.status(of: LoginName("root")) == .ended(.disabled))
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(await authenticator.login("nobody", "x", names: names).isGrant)
            #expect(try stack.text(of: "asked") == "nobody\nnobody\n")
            await authenticator.stop()
        }
    }
}
