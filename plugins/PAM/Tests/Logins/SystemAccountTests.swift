import GatewayCore
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// A real account of this machine, created and removed by the test, verified by pam_unix.
    @Suite("System accounts", .enabled(if: SystemTools.isRoot && SystemTools.userAdd != nil, "needs root and useradd"))
    struct SystemAccountTests {
        @Test("An account logs in, and is rejected with a wrong password, when locked, and when expired")
        func account() async throws {
            let name = "ngt" + String(UInt64.random(in: .min ... .max), radix: 36)
            try SystemTools.run("/usr/sbin/useradd", ["-M", "-U", "-G", "users", "-s", "/usr/sbin/nologin", name])
            defer { try? SystemTools.run("/usr/sbin/userdel", [name]) }
            try SystemTools.run("/usr/sbin/chpasswd", [], input: "\(name):correct horse\n")

            let stack = try PAMStack("auth required pam_unix.so\naccount required pam_unix.so")
            let authenticator = stack.authenticator()
            let identity = Identity(
                user: try #require(UserName(canonical: name)),
                groups: [try #require(GroupName(name)), try #require(GroupName("users"))], authenticator: "pam")
            #expect(await authenticator.login(name, "correct horse") == .accepted(identity))
            #expect(await authenticator.login(name.uppercased(), "correct horse") == .accepted(identity))
            #expect(await authenticator.login(name, "correct horsf") == .rejected(.wrong))
            #expect(await authenticator.login(name + "x", "correct horse") == .rejected(.wrong))
            #expect(await authenticator.status(of: LoginName(name)).isGood)

            try SystemTools.run("/usr/sbin/usermod", ["-e", "1", name])
            #expect(await authenticator.login(name, "correct horse") == .rejected(.expired))
            #expect(await authenticator.login(name, "wrong") == .rejected(.wrong))
            #expect(await authenticator.status(of: LoginName(name)) == .ended(.expired))

            try SystemTools.run("/usr/sbin/usermod", ["-e", "", "-L", name])
            #expect(await authenticator.login(name, "correct horse") == .rejected(.wrong))

            try SystemTools.run("/usr/sbin/usermod", ["-U", name])
            #expect(await authenticator.login(name, "correct horse") == .accepted(identity))

            try SystemTools.run("/usr/sbin/userdel", [name])
            #expect(await authenticator.login(name, "correct horse") == .rejected(.wrong))
            #expect(await authenticator.status(of: LoginName(name)) == .ended(.wrong))
            await authenticator.stop()
        }

        /// The common stacks of distributions: pam-auth-update of Debian, authselect of RHEL.
        private static let stacks = [
            "auth required pam_unix.so\naccount required pam_unix.so",
            """
            auth [success=1 default=ignore] pam_unix.so nullok
            auth requisite pam_deny.so
            auth required pam_permit.so
            account [success=1 new_authtok_reqd=done default=ignore] pam_unix.so
            account requisite pam_deny.so
            account required pam_permit.so
            """,
            """
            auth required pam_env.so
            auth required pam_faildelay.so delay=2000000
            auth sufficient pam_unix.so nullok
            auth required pam_deny.so
            account required pam_unix.so
            account sufficient pam_localuser.so
            account sufficient pam_usertype.so issystem
            account required pam_permit.so
            """,
        ]

        @Test(
            "Accounts that expired, were locked or deleted have ended in each common stack",
            arguments: stacks)
        func ended(_ lines: String) async throws {
            let names = (0..<5).map { _ in "ngt" + String(UInt64.random(in: .min ... .max), radix: 36) }
            defer { for name in names { try? SystemTools.run("/usr/sbin/userdel", [name]) } }
            for name in names { try SystemTools.run("/usr/sbin/useradd", ["-M", "-s", "/usr/sbin/nologin", name]) }
            // The last one never gets a password, as accounts whose password is elsewhere.
            for name in names.dropLast() {
                try SystemTools.run("/usr/sbin/chpasswd", [], input: "\(name):correct horse\n")
            }
            let stack = try PAMStack(lines)
            let authenticator = stack.authenticator()
            for name in names { #expect(await authenticator.status(of: LoginName(name)).isGood) }
            try SystemTools.run("/usr/sbin/usermod", ["--expiredate", "1", names[0]])
            try SystemTools.run("/usr/bin/passwd", ["--quiet", "--lock", names[1]])
            try SystemTools.run("/usr/sbin/userdel", [names[2]])
            #expect(await authenticator.login(names[0], "correct horse") == .rejected(.expired))
            #expect(await authenticator.status(of: LoginName(names[0])) == .ended(.expired))
            #expect(await authenticator.status(of: LoginName(names[1])) == .ended(.expired))
            #expect(await authenticator.status(of: LoginName(names[2])) == .ended(.wrong))
            #expect(await authenticator.status(of: LoginName(names[3])).isGood)
            #expect(await authenticator.status(of: LoginName(names[4])).isGood)
            // Where another module may accept a password of its own, a locked local password ends nothing.
            let debug = try #require(PAMModules.debug)
            try stack.write("auth sufficient \(debug) auth=success\n\(lines)")
            #expect(await authenticator.status(of: LoginName(names[1])).isGood)
            try SystemTools.run("/usr/bin/passwd", ["--quiet", "--unlock", names[1]])
            try stack.write(lines)
            #expect(await authenticator.status(of: LoginName(names[1])).isGood)
            await authenticator.stop()
        }
    }
}
