import Foundation
import GatewayCore
import GatewayTesting
import Testing
import WorkerProcesses

@testable import PAM

extension WorkerTests {
    /// The information that modules receive, and the changes that they make.
    @Suite("The view of modules", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
    struct ModuleViewTests {
        private func answer(
            _ auth: String, user: String = "nobody", from peer: Peer = .documentation, names: NameRules = NameRules()
        ) async throws -> AuthenticationOutcome {
            let stack = try PAMStack()
            try stack.useModule(auth: auth)
            let authenticator = stack.authenticator(.inRealTime(names: names))
            let answer = await authenticator.login(user, "secret", from: peer, names: names)
            await authenticator.stop()
            return answer
        }

        @Test("A module sees the peer's address, and the gateway as terminal")
        func items() async throws {
            #expect(try await answer("host 192.0.2.7", from: .documentation(7)).isGrant)
            let six = Peer(address: .v6(0x2001_0DB8_0000_0000, 1), text: "not looked at")
            #expect(try await answer("host 2001:db8::1", from: six).isGrant)
            #expect(try await answer("host 127.0.0.1", from: Peer(address: .local, text: "unix")).isGrant)
            #expect(try await answer("tty notify-gateway").isGrant)
            #expect(try await answer("host 192.0.2.8", from: .documentation(7)) == .rejected(.wrong))
        }

        @Test("A module runs in a session of its own, without descriptors or environment of the gateway")
        func process() async throws {
            #expect(try await answer("alone").isGrant)
        }

        @Test("Prompts without echo receive the password, messages are ignored, and other prompts fail the login")
        func conversation() async throws {
            #expect(try await answer("password secret").isGrant)
            #expect(try await answer("password another") == .rejected(.wrong))
            #expect(try await answer("echo secret") == .unavailable(.failed))
            #expect(try await answer("radio secret") == .unavailable(.failed))
            #expect(try await answer("many secret") == .unavailable(.failed))
        }

        @Test("A stack may return another spelling of the user, but not another user")
        func mapping() async throws {
            let names = NameRules(prefixes: ["EXAMPLE\\"], suffixes: ["@example.com"])
            #expect(try await answer("user nobody", user: "nobody@example.com", names: names).isGrant)
            #expect(try await answer("user nobody", user: "EXAMPLE\\Nobody", names: names).isGrant)
            #expect(try await answer("user nobody", user: "nobody@example.com") == .rejected(.wrong))
            #expect(try await answer("user nobody", user: "somebody", names: names) == .rejected(.wrong))
            #expect(try await answer("user nobody", user: "nobody@example.org", names: names) == .rejected(.wrong))
            #expect(try await answer("user daemon") == .rejected(.disabled))
            #expect(!(try await answer("user no-such-account").isGrant))
            #expect(try await answer("no-user") == .unavailable(.failed))
            #expect(try await answer("binary-user") == .unavailable(.failed))
        }

        @Test("A worker is replaced after its number of logins, and kept while idle before that")
        func recycling() async throws {
            let stack = try PAMStack()
            // The module counts its calls in the process: `auth` and `account` make 10 calls in 5 logins.
            try stack.useModule(auth: "below 11", account: "below 11")
            let replaced = stack.authenticator {
                $0.workers = 1
                $0.loginsPerWorker = 5
            }
            for _ in 0..<20 { #expect(await replaced.login("nobody", "x").isGrant) }
            await replaced.stop()
            let kept = stack.authenticator {
                $0.workers = 1
                $0.loginsPerWorker = 6
            }
            for number in 0..<6 { #expect(await kept.login("nobody", "x").isGrant == (number < 5)) }
            await kept.stop()
            #expect(Leftovers.workers() == 0)
        }

        @Test(
            "A worker forgets passwords", .enabled(if: SystemTools.isRoot, "needs root to look into a worker"),
            .disabled(
                if: ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_SANITIZED"] == "thread",
                "the thread sanitizer has mappings of terabytes, which the test does not search"))
        func wiping() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "any-password")
            let authenticator = stack.authenticator { $0.workers = 1 }
            let password =
                String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max))
            #expect(await authenticator.login("nobody", password).isGrant)
            #expect(try !Leftovers.workersHold(password))
            // A check of the search itself: it finds the command line.
            #expect(try Leftovers.workersHold(stack.path))
            await authenticator.stop()
        }

        @Test("An idle worker that was killed is replaced without failing a login")
        func killedWhileIdle() async throws {
            let stack = try PAMStack()
            try stack.useModule(auth: "succeed")
            let authenticator = stack.authenticator { $0.workers = 1 }
            for _ in 0..<3 {
                #expect(await authenticator.login("nobody", "x").isGrant)
                try #require(Leftovers.killWorkers() == 1)
                #expect(await authenticator.login("nobody", "x").isGrant)
            }
            await authenticator.stop()
        }
    }
}
