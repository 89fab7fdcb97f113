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
    }
}
