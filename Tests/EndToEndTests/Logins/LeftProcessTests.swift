import Foundation
import GatewaySupport
import GatewayTesting
import Testing

/// A gateway process with PAM modules that start processes in sessions of their own, which receive no signal.
@Suite("Processes that PAM modules start", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
struct LeftProcessTests {
    @Test("Processes of PAM modules end when the gateway stops or is killed", arguments: [false, true])
    func ends(isKilled: Bool) async throws {
        let stack = try PAMStack()
        try stack.useModule(auth: "daemon")
        let directory = try TestFiles()
        try directory.write(
            ConfiguredGateway.preamble + """
                authenticators:
                  - pam: { service: \(PAMStack.service), service-directory: \(stack.path), deadline: 60s }
                authentication: { deadline: 60s }
                """, to: "gateway.yaml")
        func login(_ gateway: ServedProgram) async throws {
            #expect(try await gateway.client.call("GET", "/auth/whoami", as: "nobody").status == 200)
            // The guardian, the worker, and the process that the module has started.
            #expect(stack.remainingProcesses(maximumWait: .zero) >= 3)
        }
        if isKilled {
            // The shutdown fails because the process was killed.
            _ = try? await ServedProgram.run(in: directory) { gateway in
                try await login(gateway)
                gateway.kill()
            }
        } else {
            _ = try await ServedProgram.run(in: directory) { try await login($0) }
        }
        #expect(stack.remainingProcesses() == 0)
    }
}
