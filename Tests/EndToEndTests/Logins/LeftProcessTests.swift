import Foundation
import GatewayTesting
import Testing

/// The program with PAM modules that leave processes in sessions of their own, which hear no signal.
@Suite("What PAM modules leave behind", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
struct LeftProcessTests {
    @Test("ends with the gateway, also where that is killed", arguments: [false, true])
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
            // The guardian, the worker, and what the module has started, which may be starting one more.
            #expect(stack.lastingProcesses(patience: .zero) >= 3)
        }
        if isKilled {
            // Stopping it as an operator would has nothing to stop then.
            _ = try? await ServedProgram.run(in: directory) { gateway in
                try await login(gateway)
                gateway.kill()
            }
        } else {
            _ = try await ServedProgram.run(in: directory) { try await login($0) }
        }
        #expect(stack.lastingProcesses() == 0)
    }
}
