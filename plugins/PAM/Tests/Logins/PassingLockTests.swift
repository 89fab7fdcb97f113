import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Temporary rejections of an account do not end what it was granted.
    @Suite(
        "Temporary lockouts",
        .enabled(
            if: PAMModules.matrix != nil && PAMModules.failLock != nil && SystemTools.isRoot,
            "needs pam_matrix, pam_faillock and root"))
    struct PassingLockTests {
        @Test("Guessing at a password does not end the account")
        func guessed() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let matrix = "\(try #require(PAMModules.matrix)) passdb=\(stack.path)/passwords"
            let lock = "pam_faillock.so deny=3 dir=\(stack.path)/tallies"
            // The stack of the README.
            try stack.write(
                """
                auth required \(lock) preauth silent
                auth [success=1 authinfo_unavail=die default=ignore] \(matrix)
                auth [default=die] \(lock) authfail
                auth required \(lock) authsucc
                account required \(matrix)
                """)
            let authenticator = stack.authenticator()
            for _ in 0..<3 {
                // A successful login resets the count of two wrong passwords.
                for _ in 0..<2 { #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong)) }
                #expect(await authenticator.login("nobody", "right").isGrant)
            }
            for _ in 0..<3 {
                #expect(await authenticator.login("nobody", "wrong") == .rejected(.wrong))
                #expect(await authenticator.status(of: LoginName("nobody")).isGood)
            }
            // The account checks have not reset the count.
            #expect(await authenticator.login("nobody", "right") == .rejected(.wrong))
            #expect(await authenticator.status(of: LoginName("nobody")).isGood)
            await authenticator.stop()
        }

        @Test("A machine closed to logins does not end an account")
        func noLogin() async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let matrix = "\(try #require(PAMModules.matrix)) passdb=\(stack.path)/passwords"
            try stack.write(
                """
                auth required \(matrix)
                account required pam_nologin.so file=\(stack.path)/nologin
                account required \(matrix)
                """)
            let authenticator = stack.authenticator()
            #expect(await authenticator.status(of: LoginName("nobody")).isGood)
            let note = try stack.write("The machine goes down at six.", to: "nologin")
            #expect(await authenticator.login("nobody", "right") == .rejected(.disabled))
            #expect(await authenticator.status(of: LoginName("nobody")) == .unknown(.failed))
            try FileManager.default.removeItem(atPath: note)
            #expect(await authenticator.status(of: LoginName("nobody")).isGood)
            await authenticator.stop()
        }

        @Test(
            "A login by a longer name does not end the account",
            .enabled(if: SystemTools.compiler != nil))
        func longerName() async throws {
            let stack = try PAMStack()
            try stack.write(
                "auth required \(try stack.misbehavingModule()) user nobody\naccount required pam_unix.so")
            let authenticator = stack.authenticator(.inRealTime(names: NameRules(suffixes: ["@example.com"])))
            #expect(await authenticator.login("nobody@example.com", "any").isGrant)
            #expect(await authenticator.status(of: LoginName("nobody@example.com")).isGood)
            #expect(await authenticator.status(of: LoginName("no-such-account@example.com")) == .ended(.wrong))
            await authenticator.stop()
        }
    }
}
