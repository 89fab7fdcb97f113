import Foundation
import GatewayTesting
import Testing

/// The memory of the gateway's processes, which holds passwords and keys.
@Suite("Core dumps")
struct CoreDumpTests {
    @Test(
        "The gateway and its workers dump no core",
        .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
    func limits() async throws {
        let stack = try PAMStack()
        try stack.useModule(auth: "succeed")
        let directory = try TestFiles()
        try directory.write(
            ConfiguredGateway.preamble + """
                authenticators:
                  - pam: { service: \(PAMStack.service), service-directory: \(stack.path), deadline: 60s }
                authentication: { deadline: 60s }
                """, to: "gateway.yaml")
        _ = try await ServedProgram.run(in: directory) { gateway in
            #expect(try await gateway.client.call("GET", "/auth/whoami", as: "nobody").status == 200)
            let guardians = gateway.observed.children
            let workers = guardians.flatMap { ObservedProcess(pid: $0).children }
            #expect(!workers.isEmpty)
            for pid in [gateway.processIdentifier] + guardians + workers {
                let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
                let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
                let values = line.dropFirst("Max core file size".count).split(separator: " ")
                #expect(values.prefix(2) == ["0", "0"], "\(line)")
            }
        }
    }

    @Test(
        "Other processes of the gateway's user cannot read its memory",
        .enabled(if: ServiceAccount.isUsable, "needs root and setpriv"))
    func owner() async throws {
        let directory = try TestFiles()
        try directory.write(
            ConfiguredGateway.preamble + """
                authenticators:
                  - pam: { service: \(PAMStack.service), socket: none.sock }
                """, to: "gateway.yaml")
        try directory.give(to: ServiceAccount.user)
        _ = try await ServedProgram.run(in: directory, asServiceAccount: true) { gateway in
            // The kernel gives the files of a process that dumps no core to root.
            let path = "/proc/\(gateway.processIdentifier)/environ"
            let owner = try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? NSNumber
            #expect(owner?.uint32Value == 0)
        }
    }
}
