import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Real logins with pam_matrix. The accounts are the system's own: `nobody` has the uid 65534 on every system.
    @Suite("pam_matrix", .enabled(if: PAMModules.matrix != nil, "libpam-wrapper is not installed"))
    struct MatrixLoginTests {
        @Test("The correct password yields the canonical user with the system's groups")
        func right() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let authenticator = stack.authenticator()
            let answer = await authenticator.login("nobody", "right")
            guard case .accepted(let identity) = answer else {
                Issue.record("\(answer)")
                return
            }
            #expect(identity.user.text == "nobody")
            #expect(identity.authenticator == "pam")
            #expect(["nogroup", "nobody"].contains(try #require(identity.groups.first).text))
            #expect(await authenticator.login("NOBODY", "right") == answer)
            await authenticator.stop()
            #expect(Leftovers.workers() == 0)
            #expect(Leftovers.sockets() == 0)
        }

        @Test("A wrong password, an unknown user, and an empty or too long password are rejected")
        func wrong() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody", "no-such-account")
            let authenticator = stack.authenticator()
            #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong))
            #expect(await authenticator.login("nobody", "righ") == .rejected(.wrong))
            #expect(await authenticator.login("nobody", "right ") == .rejected(.wrong))
            #expect(await authenticator.login("somebody", "right") == .rejected(.wrong))
            #expect(await authenticator.login("nobody", "") == .rejected(.malformed))
            #expect(await authenticator.login("nobody", "right\u{0}") == .rejected(.malformed))
            #expect(await authenticator.login("nobody", String(repeating: "x", count: 511)) == .rejected(.wrong))
            #expect(await authenticator.login("nobody", String(repeating: "x", count: 512)) == .rejected(.malformed))
            #expect(await authenticator.login("nobody", [0xFF, 0xFE]) == .rejected(.wrong))
            // PAM accepts the user, but the system has no such account. Without a uid the login is rejected.
            #expect(await authenticator.login("no-such-account", "right") == .rejected(.disabled))
            let token = Credential.bearer(token: Secret("x".utf8))
            guard case .notMine = await authenticator.authenticate(token, from: .documentation) else {
                Issue.record("a token is not a password")
                return
            }
        }

        @Test("An account below the minimum uid cannot log in, and root cannot even if the minimum is 1")
        func minimumUID() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("root", "daemon", "nobody")
            let usual = stack.authenticator()
            #expect(await usual.login("daemon", "right") == .rejected(.wrong))
            #expect(await usual.login("daemon", "wrong") == .rejected(.wrong))
            #expect(await usual.login("root", "right") == .rejected(.wrong))
            let low = stack.authenticator { $0.minimumUID = 1 }
            #expect(await low.login("daemon", "right").isGrant)
            #expect(await low.login("root", "right") == .rejected(.wrong))
            let none = stack.authenticator { $0.minimumUID = 0 }
            #expect(await none.login("root", "right") == .rejected(.wrong))
        }

        @Test("A name that the system lacks is left to a later authenticator")
        func notMine() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let authenticator = stack.authenticator(.inRealTime(isLastOfItsKind: false))
            #expect(await authenticator.login("no-such-account", "right") == .notMine)
            #expect(await authenticator.login("a/b", "right") == .notMine)
            #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong))
            #expect(await authenticator.login("nobody", "right").isGrant)
        }

        @Test("A login is rejected if the account modules reject it")
        func accountRefused() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            try stack.write("nobody:right:another-service", to: "passwords")
            let authenticator = stack.authenticator()
            #expect(await authenticator.login("nobody", "right") != .rejected(.wrong))
            #expect(!(await authenticator.login("nobody", "right").isGrant))
            #expect(await authenticator.status(of: LoginName("nobody")).isGood == false)
        }

        @Test("A service whose stack lost modules of its own is not used, although libpam would use another stack")
        func stackGone() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let whole = try stack.text(of: PAMStack.service)
            let authenticator = stack.authenticator()
            #expect(await authenticator.login("nobody", "right").isGrant)
            try stack.write("auth required pam_permit.so\naccount required pam_permit.so", to: "other")
            let auth = try #require(whole.split(separator: "\n").first)
            let account = whole.replacing(auth, with: "")
            for text in ["", "# \(auth)", String(auth), account, "session required pam_permit.so"] {
                try stack.write(text)
                #expect(await authenticator.login("nobody", "right") == .unavailable(.unreachable), "\(text)")
                #expect(await authenticator.login("nobody", "anything") == .unavailable(.unreachable), "\(text)")
                #expect(await authenticator.status(of: LoginName("nobody")) == .unknown(.unreachable), "\(text)")
            }
            try FileManager.default.removeItem(atPath: "\(stack.path)/\(PAMStack.service)")
            #expect(await authenticator.login("nobody", "anything") == .unavailable(.unreachable))
            try stack.useMatrix("nobody")
            #expect(await authenticator.login("nobody", "right").isGrant)
            await authenticator.stop()
        }

        @Test("A service's file that is cut anywhere admits nobody with a wrong password")
        func stackCut() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody", before: "# a comment\nauth optional pam_permit.so \\\n debug")
            try stack.write("auth required pam_permit.so\naccount required pam_permit.so", to: "other")
            let whole = try stack.text(of: PAMStack.service)
            let authenticator = stack.authenticator { $0.workers = 1 }
            for count in 0..<whole.utf8.count {
                try Data(whole.utf8.prefix(count)).write(to: URL(filePath: "\(stack.path)/\(PAMStack.service)"))
                let outcome = await authenticator.login("nobody", "wrong")
                #expect([.unavailable(.unreachable), .rejected(.wrong)].contains(outcome), "\(count): \(outcome)")
            }
            await authenticator.stop()
        }

        @Test("A command that rejects a password is a wrong password, and other faults of modules are not")
        func command() async throws {
            let stack = try PAMStack()
            let program = try stack.write("#!/bin/sh\ntr -d '\\000' | grep -qx right", to: "program")
            chmod(program, 0o755)
            try stack.write("auth required pam_exec.so expose_authtok \(program)\naccount required pam_permit.so")
            let authenticator = stack.authenticator()
            #expect(await authenticator.login("nobody", "right").isGrant)
            #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong))
            try stack.write("auth required pam_permit.so\naccount required pam_exec.so /bin/false")
            #expect(await authenticator.login("nobody", "right") == .rejected(.disabled))
            #expect(await authenticator.status(of: LoginName("nobody")) == .unknown(.failed))
            await authenticator.stop()
        }

        @Test("A service directory may be relative")
        func relativeDirectory() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let here = FileManager.default.currentDirectoryPath
            let up = String(repeating: "../", count: here.split(separator: "/").count)
            let authenticator = stack.authenticator { $0.serviceDirectory = up + stack.path.dropFirst() }
            #expect(await authenticator.login("nobody", "right").isGrant)
            await authenticator.stop()
        }

        @Test("An account is rechecked without a password")
        func status() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody", "daemon")
            let authenticator = stack.authenticator()
            #expect(await authenticator.status(of: LoginName("nobody")).isGood)
            #expect(await authenticator.status(of: LoginName("daemon")) == .ended(.disabled))
            #expect(await authenticator.status(of: LoginName("../nobody")) == .ended(.wrong))
        }
    }
}
