import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import PAM

@Suite("Settings of pam")
struct PAMSettingsTests {
    private func read(_ text: String) throws -> (PAMPlugin.Settings?, [String]) {
        let problems = ConfigurationProblems()
        let node = try YAMLDocument.parse(text, file: "gateway.yaml")
        let reader = ConfigurationReader(node, path: "pam", directory: "/etc/ng", problems: problems)
        let settings = PAMPlugin.readSettings(reader)
        reader.finish()
        return (settings, problems.all.map(\.description))
    }

    @Test("Missing settings have their defaults")
    func defaults() throws {
        let (read, problems) = try read("service: notify-gateway")
        let settings = try #require(read)
        #expect(problems.isEmpty)
        #expect(settings.minimumUID == 1000)
        #expect((1...8).contains(settings.workers))
        #expect(settings.deadline == .seconds(10))
        #expect(settings.queue == 64)
        #expect(settings.serviceDirectory == nil)
        #expect(settings.socket == nil)
        #expect(settings.program == "/proc/self/exe")
        #expect(settings.loginsPerWorker == 100)
    }

    @Test("Every setting is read")
    func all() throws {
        let (read, problems) = try read(
            "{ service: x, minimum-uid: 500, workers: 3, deadline: 60s, queue: 8, service-directory: pam.d }")
        let settings = try #require(read)
        #expect(problems.isEmpty)
        #expect(settings.minimumUID == 500)
        #expect(settings.workers == 3)
        #expect(settings.deadline == .seconds(60))
        #expect(settings.queue == 8)
        #expect(settings.serviceDirectory == "/etc/ng/pam.d")
        #expect(try self.read("{ service: x, socket: /run/x.sock }").0?.socket == "/run/x.sock")
    }

    @Test(
        "Every mistake is reported with its location",
        arguments: [
            ("{}", "gateway.yaml:1:1: pam: \"service\" is missing"),
            (
                "service: ../sudo",
                "gateway.yaml:1:10: pam.service: \"../sudo\" is not a service name; use 1 to 64 of A-Z a-z 0-9 _ -"
            ),
            (
                "service: --listen",
                "gateway.yaml:1:10: pam.service: \"--listen\" is not a service name; use 1 to 64 of A-Z a-z 0-9 _ -"
            ),
            (
                "service: x\nminimum-uid: 0",
                "gateway.yaml:2:14: pam.minimum-uid: must be a whole number from 1 to 2147483647"
            ),
            ("service: x\nworkers: 0", "gateway.yaml:2:10: pam.workers: must be a whole number from 1 to 64"),
            ("service: x\ndeadline: 61s", "gateway.yaml:2:11: pam.deadline: must be from 100ms to 1min"),
            ("service: x\nqueue: 3", "gateway.yaml:2:8: pam.queue: must be a whole number from 4 to 4096"),
            (
                "service: x\nservice-directory: a\nsocket: b",
                "gateway.yaml:2:20: pam.service-directory: cannot be combined with \"socket\"; "
                    + "set it on the command line of the worker service"
            ),
            (
                "service: x\nservices: y",
                "gateway.yaml:2:1: pam.services: is not a known key; did you mean `service`? known keys: deadline, minimum-uid, queue, service, "
                    + "service-directory, socket, workers"
            ),
        ])
    func mistakes(_ text: String, _ problem: String) throws {
        #expect(try read(text).1 == [problem])
    }

    private func problems(_ settings: PAMPlugin.Settings) async -> [String] {
        await PAMPlugin.problems(in: settings, context: .inRealTime()).filter { $0.severity == .error }.map(\.message)
    }

    @Test("A missing stack and one that others can write are rejected")
    func stack() async throws {
        let stack = try PAMStack("auth required pam_permit.so\naccount required pam_permit.so")
        let settings = stack.settings()
        #expect(await problems(settings) == [])
        chmod("\(stack.path)/\(PAMStack.service)", 0o666)
        #expect(await problems(settings).count == 1)
        chmod(stack.path, 0o777)
        #expect(await problems(settings).count == 2)
        await #expect(throws: ConfigurationProblem.self) {
            _ = try await PAMPlugin.makeAuthenticator(settings, context: .inRealTime())
        }
        var missing = settings
        missing.service = "no-such-service"
        #expect(await problems(missing) == ["there is no readable file \"no-such-service\" in \(stack.path)"])
        missing.serviceDirectory = nil
        #expect(await problems(missing).count == 1)
        missing.service = "../x"
        #expect(await problems(missing) == ["\"../x\" is not a service name"])
    }

    @Test(
        "A module that resets its count of wrong passwords in account checks causes a warning",
        arguments: [
            ("auth required pam_faillock.so authsucc\naccount required pam_unix.so", 0),
            ("account required pam_faillock.so", 1), ("-account\trequired\t/lib/security/pam_tally2.so  deny=3", 1),
            ("# account required pam_faillock.so", 0), ("account [success=1 default=ignore] \\\n pam_faillock.so", 1),
            ("@include DIR/common-account", 1), ("account include DIR/common-account", 1),
            ("auth include DIR/common-account", 0), ("account substack nothing\naccount\naccount [", 0),
            ("@include DIR/itself", 0),
            ("# no comment goes on \\\naccount required pam_faillock.so", 1),
            ("auth required pam_unix.so \\ # nor what it ends\naccount required pam_faillock.so", 1),
            ("account required \\  \n pam_faillock.so # \\\n", 1),
        ])
    func countResettingModules(_ text: String, _ count: Int) async throws {
        let stack = try PAMStack()
        try stack.write(text.replacing("DIR", with: stack.path))
        try stack.write("account requisite pam_faillock.so", to: "common-account")
        let itself = "@include \(stack.path)/itself"
        try stack.write("\(itself)\n\(itself)\n@include \(stack.path)/\(PAMStack.service)", to: "itself")
        let problems = await PAMPlugin.problems(in: stack.settings(), context: .inRealTime())
        #expect(problems.count { $0.severity == .warning && $0.message.contains("resets its count") } == count)
    }

    @Test("A path that is not a socket is rejected, and a missing socket causes a warning")
    func socket() async throws {
        let stack = try PAMStack()
        var settings = PAMPlugin.Settings(service: "x")
        settings.socket = "\(stack.path)/\(PAMStack.service)"
        #expect(await problems(settings) == ["\(stack.path)/\(PAMStack.service) is not a socket"])
        settings.socket = "\(stack.path)/none"
        #expect(await problems(settings) == [])
        #expect(await PAMPlugin.problems(in: settings, context: .inRealTime()).count == 1)
    }
}
