import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Real logins against pam_matrix. The accounts are the system's own: `nobody` has the uid 65534 everywhere.
    @Suite("pam_matrix", .enabled(if: PAMModules.matrix != nil, "libpam-wrapper is not installed"))
    struct MatrixLoginTests {
        @Test("the right password gives the canonical user with the groups of the system")
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

        @Test("wrong, unknown, empty, too long")
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
            // PAM says yes, the system knows nobody of that name: without a uid there is no login.
            #expect(await authenticator.login("no-such-account", "right") == .rejected(.disabled))
            let token = Credential.bearer(token: Secret("x".utf8))
            guard case .notMine = await authenticator.authenticate(token, from: .documentation) else {
                Issue.record("a token is not a password")
                return
            }
        }

        @Test("accounts below the minimum uid never log in, and root not even where the minimum is 1")
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

        @Test("where another authenticator comes later, names that the system lacks are that one's")
        func notMine() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let authenticator = stack.authenticator(.inRealTime(isLastOfItsKind: false))
            #expect(await authenticator.login("no-such-account", "right") == .notMine)
            #expect(await authenticator.login("a/b", "right") == .notMine)
            #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong))
            #expect(await authenticator.login("nobody", "right").isGrant)
        }

        @Test("an account that the account modules refuse")
        func accountRefused() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            try stack.write("nobody:right:another-service", to: "passwords")
            let authenticator = stack.authenticator()
            #expect(await authenticator.login("nobody", "right") != .rejected(.wrong))
            #expect(!(await authenticator.login("nobody", "right").isGrant))
            #expect(await authenticator.standing(of: LoginName("nobody")).isGood == false)
        }

        @Test("without its own stack a service is not asked, though libpam would take another")
        func stackGone() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let authenticator = stack.authenticator()
            #expect(await authenticator.login("nobody", "right").isGrant)
            try stack.write("auth required pam_permit.so\naccount required pam_permit.so", to: "other")
            try FileManager.default.removeItem(atPath: "\(stack.path)/\(PAMStack.service)")
            #expect(await authenticator.login("nobody", "right") == .unavailable(.failed))
            #expect(await authenticator.login("nobody", "anything") == .unavailable(.failed))
            try stack.useMatrix("nobody")
            #expect(await authenticator.login("nobody", "right").isGrant)
        }

        @Test("a service directory may be relative, as everything in a configuration may")
        func relativeDirectory() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let here = FileManager.default.currentDirectoryPath
            let up = String(repeating: "../", count: here.split(separator: "/").count)
            let authenticator = stack.authenticator { $0.serviceDirectory = up + stack.path.dropFirst() }
            #expect(await authenticator.login("nobody", "right").isGrant)
            await authenticator.stop()
        }

        @Test("an account is looked at again without a password")
        func standing() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody", "daemon")
            let authenticator = stack.authenticator()
            #expect(await authenticator.standing(of: LoginName("nobody")).isGood)
            #expect(await authenticator.standing(of: LoginName("daemon")) == .ended(.disabled))
            #expect(await authenticator.standing(of: LoginName("../nobody")) == .ended(.wrong))
        }
    }
}
