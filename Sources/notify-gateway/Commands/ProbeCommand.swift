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
            Exits 1 if a right is missing that the gateway needs. Of several backends, each is tested.

            Example: notify-gateway probe --config gateway.yaml
            """)

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var results: ResultOption

    func run() async throws {
        let configuration = try file.load()
        var failures: [CommandFailure] = []
        for section in configuration.backends {
            // With one backend, its name says nothing new.
            let name = configuration.backends.count > 1 ? section.name.text : nil
            do {
                if let name { Console.printMessage("\(name):".printable) }
                if section.hub != nil {
                    try await testHub(configuration, name)
                } else {
                    try await testBackend(section, of: configuration, name)
                }
            } catch let failure as CommandFailure where name != nil && failure.code != 0 {
                Console.printMessage(failure.message)
                failures.append(failure)
            }
        }
        if let failure = failures.first {
            throw CommandFailure(
                message: "\(failures.count) of \(configuration.backends.count) backends need attention; see above.",
                code: failure.code)
        }
    }

    /// Tests a backend for vulnerabilities.
    ///
    /// - Parameter name: The backend's name, which the results then have; nil if there is only one.
    private func testBackend(
        _ section: ServerConfiguration.BackendSection, of configuration: ServerConfiguration, _ name: String?
    ) async throws {
        let progress = Console.progress("Testing the backend …")
        defer { progress?.cancel() }
        let report: BackendProbe.Report
        do {
            report = try await BackendProbe(
                configuration: configuration, of: section, logger: .server(.init(level: .error, format: .text))
            ).run()
        } catch let fault as BackendProbe.Unavailable {
            throw CommandFailure.unavailable("The backend cannot be tested: \(fault.reason.printable)")
        }
        try results.print(
            Self.naming(name, report.findings),
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

    private func testHub(_ configuration: ServerConfiguration, _ name: String?) async throws {
        let tls = try configuration.backends.map { try $0.tls.map { try CertificateFiles.clientTLS($0) } }
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
            Self.naming(name, report.findings),
            columns: [
                .init("right", "RIGHT"), .init("key", "KEY"), .init("needed", "NEEDED"), .init("evidence", "SEEN"),
            ])
        for remark in report.remarks { Console.printMessage(remark.printable) }
        if !report.isSufficient { throw CommandFailure.refused("The key lacks a right that the gateway needs.") }
    }

    /// Adds the backend's name to the results.
    private static func naming(_ name: String?, _ results: [JSONValue]) -> [JSONValue] {
        guard let name else { return results }
        return results.map { result in
            guard case .object(let members) = result else { return result }
            return .object([.init("upstream", .string(name))] + members)
        }
    }
}
