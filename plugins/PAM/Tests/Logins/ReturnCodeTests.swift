import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Every pair of codes that modules can return, produced by pam_debug.
    @Suite("Return codes", .enabled(if: PAMModules.debug != nil, "pam_debug is not installed"))
    struct ReturnCodeTests {
        private static let codes = """
            success open_err symbol_err service_err system_err buf_err perm_denied auth_err cred_insufficient \
            authinfo_unavail user_unknown maxtries new_authtok_reqd acct_expired session_err cred_unavail cred_expired \
            cred_err no_module_data conv_err authtok_err authtok_recover_err authtok_lock_busy authtok_disable_aging \
            try_again ignore abort authtok_expired module_unknown bad_item conv_again incomplete
            """.split(separator: " ").map(String.init)

        @Test("Only two successful codes accept a login")
        func matrix() async throws {
            let stack = try PAMStack()
            let debug = try #require(PAMModules.debug)
            let authenticator = stack.authenticator { $0.workers = 2 }
            var answers: [[String]: AuthenticationOutcome] = [:]
            for auth in Self.codes {
                for account in Self.codes {
                    try stack.write(
                        """
                        auth required \(debug) auth=\(auth)
                        account required \(debug) acct=\(account)
                        """)
                    answers[[auth, account]] = await authenticator.login("nobody", "anything")
                }
            }
            #expect(answers.count == 32 * 32)
            #expect(answers.filter { $0.value.isGrant }.map(\.key) == [["success", "success"]])
            for down in ["authinfo_unavail", "system_err", "abort", "service_err", "conv_err", "cred_insufficient"] {
                #expect(answers[[down, "success"]] == .unavailable(.failed), "\(down)")
                #expect(answers[["success", down]] == .unavailable(.failed), "\(down)")
            }
            #expect(answers[["auth_err", "success"]] == .rejected(.wrong))
            #expect(answers[["user_unknown", "success"]] == .rejected(.wrong))
            #expect(answers[["maxtries", "success"]] == .rejected(.wrong))
            #expect(answers[["perm_denied", "success"]] == .rejected(.wrong))
            #expect(answers[["success", "perm_denied"]] == .rejected(.disabled))
            #expect(answers[["success", "acct_expired"]] == .rejected(.expired))
            #expect(answers[["success", "new_authtok_reqd"]] == .rejected(.expired))
            await authenticator.stop()
        }

        @Test("An account check succeeds only with the code success", arguments: codes)
        func status(_ account: String) async throws {
            let debug = try #require(PAMModules.debug)
            // The stack's `auth` modules must not affect an account check.
            let stack = try PAMStack("auth required \(debug) auth=abort\naccount required \(debug) acct=\(account)")
            let authenticator = stack.authenticator()
            let status = await authenticator.status(of: LoginName("nobody"))
            #expect(status.isGood == (account == "success"), "\(status)")
            await authenticator.stop()
        }
    }
}
