import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// The systemd unit of the worker service.
    @Suite("The systemd unit of the worker service")
    struct ServiceUnitTests {
        /// Returns the values of a key in the unit, one for each line.
        private static func values(_ name: String) throws -> [String] {
            let file = TestData.package.appending(path: "deploy/systemd/notify-gateway-pam.service")
            return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
                line.hasPrefix("\(name)=") ? String(line.dropFirst(name.count + 1)) : nil
            }
        }

        @Test("Its command line is valid and matches the README")
        func commandLine() throws {
            let command = try #require(try Self.values("ExecStart").first)
            let words = command.split(separator: " ").map(String.init)
            #expect(words.prefix(2) == ["/usr/bin/notify-gateway", "pam-worker"])
            let arguments = try WorkerArguments(Array(words.dropFirst(2)))
            let readme = try PluginReadme()
            let gateway = try readme.settings(of: PAMPlugin.self, example: 2)
            #expect(arguments.service == gateway.service)
            #expect(arguments.listen == gateway.socket)
            #expect(arguments.allow == "notify-gateway")
            #expect(readme.text.contains("deploy/systemd/notify-gateway-pam.service"))
            // The socket is in the directory that systemd creates for the service.
            let directory = try #require(try Self.values("RuntimeDirectory").first)
            #expect(arguments.listen?.hasPrefix("/run/\(directory)/") == true)
        }

        @Test(
            "Its privileges are sufficient for pam_unix and pam_faillock",
            .enabled(
                if: SystemTools.isRoot && SystemTools.userAdd != nil && SystemTools.setPrivileges != nil,
                "needs root, useradd and setpriv"))
        func rights() async throws {
            let name = "ngu" + String(UInt64.random(in: .min ... .max), radix: 36)
            try SystemTools.run("/usr/sbin/useradd", ["-M", "-s", "/usr/sbin/nologin", name])
            defer { try? SystemTools.run("/usr/sbin/userdel", [name]) }
            try SystemTools.run("/usr/sbin/chpasswd", [], input: "\(name):correct horse\n")
            let stack = try PAMStack()
            let tallies = stack.path + "/tallies"
            try stack.write(
                """
                auth required pam_faillock.so preauth silent deny=3 dir=\(tallies)
                auth [success=1 default=ignore] pam_unix.so
                auth [default=die] pam_faillock.so authfail deny=3 dir=\(tallies)
                auth required pam_faillock.so authsucc deny=3 dir=\(tallies)
                account required pam_unix.so
                """)
            let capabilities = try #require(try Self.values("CapabilityBoundingSet").first).split(separator: " ")
            let bounds = ["-all"] + capabilities.map { "+" + $0.dropFirst("CAP_".count).lowercased() }
            #expect(try Self.values("NoNewPrivileges") == ["yes"])
            let service = try WorkerServiceProcess(
                stack,
                under: [
                    try #require(SystemTools.setPrivileges), "--no-new-privs",
                    "--bounding-set=\(bounds.joined(separator: ","))", "--inh-caps=-all",
                ])
            let authenticator = service.authenticator()
            #expect(await authenticator.login(name, "correct horse").isGrant)
            #expect(await authenticator.login(name, "wrong") == .rejected(.wrong))
            #expect(await authenticator.login(name, "correct horse").isGrant)
            // The third wrong password locks the account, in a file that the account owns.
            for _ in 0..<3 { #expect(await authenticator.login(name, "wrong") == .rejected(.wrong)) }
            #expect(await authenticator.login(name, "correct horse") == .rejected(.wrong))
            await authenticator.stop()
        }
    }
}
