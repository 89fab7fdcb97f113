import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport
import Logging

/// `probe`: tests the configured backend for known vulnerabilities.
struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe", abstract: "Test the backend for known vulnerabilities, or the key of a hub.",
        discussion: """
            Reports which vulnerabilities the backend has and which the gateway mitigates. Calls the configured \
            backend directly, without the gateway: as users that do not exist, with its own ids and handles, and sends \
            only to its own user. Tests that could harm registrations of others are skipped, unless the backend is the \
            embedded one, which is started for them. Registrations of the test are deleted at the end. Exits 1 if the \
            gateway does not mitigate a vulnerability that the backend has or may have.

            With a notification hub, reports which rights the gateway's key has, by three requests that change nothing. \
            Exits 1 if a right is missing that the gateway needs.

            Example: notify-gateway probe --config gateway.yaml
            """)

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var results: ResultOption

    func run() async throws {
        let configuration = try file.load()
        if configuration.backend.hub != nil { return try await testHub(configuration) }
        let progress = Console.progress("Testing the backend …")
        defer { progress?.cancel() }
        let report: BackendProbe.Report
        do {
            report = try await BackendProbe(
                configuration: configuration, logger: .server(.init(level: .error, format: .text))
            ).run()
        } catch let fault as BackendProbe.Unavailable {
            throw CommandFailure.unavailable("The backend cannot be tested: \(fault.reason.printable)")
        }
        try results.print(
            report.findings,
            columns: [
                .init("vulnerability", "ID"), .init("title", "WHAT"), .init("backend", "BACKEND"),
                .init("gateway", "GATEWAY"),
                .init("evidence", "SEEN"),
            ])
        for finding in report.findings {
            if let vulnerability = finding["vulnerability"]?.string, let reason = finding["reason"]?.string {
                Console.printMessage("\(vulnerability): \(reason).".printable)
            }
        }
        for remark in report.remarks { Console.printMessage(remark.printable) }
        if !report.isSafe {
            throw CommandFailure.refused("The gateway does not mitigate all vulnerabilities; see above.")
        }
    }

    private func testHub(_ configuration: ServerConfiguration) async throws {
        let tls = try configuration.backend.tls.map { try CertificateFiles.clientTLS($0) }
        guard let probe = HubProbe(configuration: configuration, tls: tls, clocks: .system) else {
            throw CommandFailure.unavailable("The embedded hub cannot be tested: it runs in the gateway only.")
        }
        let report: HubProbe.Report
        do throws(BackendProbe.Unavailable) {
            report = try await probe.run()
        } catch {
            throw CommandFailure.unavailable("The hub cannot be tested: \(error.reason.printable)")
        }
        try results.print(
            report.findings,
            columns: [
                .init("right", "RIGHT"), .init("key", "KEY"), .init("needed", "NEEDED"), .init("evidence", "SEEN"),
            ])
        for remark in report.remarks { Console.printMessage(remark.printable) }
        if !report.isSufficient { throw CommandFailure.refused("The key lacks a right that the gateway needs.") }
    }
}
