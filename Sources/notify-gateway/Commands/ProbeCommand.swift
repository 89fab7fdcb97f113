import ArgumentParser
import GatewayCore
import GatewayServer
import Logging

/// `probe`: which of the known holes the configured backend has.
struct ProbeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "probe", abstract: "Say which of the known holes the backend has, and which the gateway closes.",
        discussion: """
            Calls the configured backend as the gateway would, without it: as users that do not exist, with ids and handles of its
            own, and sends to nobody but its own user. What could harm registrations of others is not tried, unless the backend
            is the embedded one, which is started for it. What was registered is deleted in the end.
            Exits 1 if something is open that the gateway does not close.

            Example: notify-gateway probe --config gateway.yaml
            """)

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var results: ResultOption

    func run() async throws {
        let configuration = try file.load()
        let progress = Console.progress("Asking the backend …")
        defer { progress?.cancel() }
        let report: BackendProbe.Report
        do {
            report = try await BackendProbe(
                configuration: configuration, logger: .server(.init(level: .error, format: .text))
            ).run()
        } catch let fault as BackendProbe.Unavailable {
            throw CommandFailure.unavailable("The backend cannot be probed: \(fault.reason.printable)")
        }
        try results.say(
            report.findings,
            columns: [
                .init("hole", "HOLE"), .init("title", "WHAT"), .init("backend", "BACKEND"), .init("gateway", "GATEWAY"),
                .init("evidence", "SEEN"),
            ])
        for finding in report.findings {
            if let vulnerability = finding["hole"]?.string, let reason = finding["reason"]?.string {
                Console.complain("\(vulnerability): \(reason).".printable)
            }
        }
        for remark in report.remarks { Console.complain(remark.printable) }
        if !report.isSafe { throw CommandFailure.refused("The gateway does not close everything; see above.") }
    }
}
