import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayStore
import GatewaySupport
import OutboundHTTP
import SegmentArchive
import Synchronization

extension AuditCommand.Verify {
    /// Verifies the archived segments and the local ones after them as one chain, and prints the result.
    func verifyArchive(of journal: ServerConfiguration.JournalSection, _ verification: JournalVerification) async throws
    {
        guard let settings = journal.archive else {
            throw CommandFailure.refused("--archive needs journal.archive in the configuration.")
        }
        let progress = SharedProgressLine("Verifying the archive")
        let result: ArchiveVerification.Result
        do throws(DeliveryFailure) {
            result = try await ArchiveVerification(settings, directory: journal.directory)
                .run(verification) { progress.show($0, of: $1) }
        } catch {
            progress.finish()
            throw CommandFailure.unavailable("The archive cannot be verified: \(error.reason).")
        }
        progress.finish()
        try print(result, settings)
    }

    private func print(_ result: ArchiveVerification.Result, _ settings: ArchiveSettings) throws {
        let report = result.report
        if results.json {
            // The report knows the chain only.
            let members = report.members.filter { $0.name != "good" }
            try results.print(
                .object(
                    [.init("good", .bool(report.isGood && result.problems.isEmpty))] + members + [
                        .init("archived_segments", .number("\(result.archived)")),
                        .init("local_segments", .number("\(result.local)")),
                        .init("archive_problems", .array(result.problems.map(JSONValue.string))),
                    ] + (report.finding?.members ?? [])))
        } else {
            try Console.printResult(text(result, settings))
        }
        var problems = result.problems
        if let finding = report.finding {
            let place =
                finding.number == finding.through
                ? "line \(finding.number)" : "lines \(finding.number) to \(finding.through)"
            problems.insert("verification failed at \(place): \(finding.what)", at: 0)
        }
        problems += report.losses.map { "the journal is incomplete: \($0)" }
        guard problems.isEmpty else {
            throw CommandFailure.refused("The archive is not in order: \(problems.joined(separator: "; ")).")
        }
    }

    private func text(_ result: ArchiveVerification.Result, _ settings: ArchiveSettings) -> String {
        let report = result.report
        var lines: [String] = []
        if report.isGood, result.problems.isEmpty {
            lines.append(
                report.lines == 0 ? "OK: the archive and the journal are empty." : "OK: the archive is unchanged.")
        }
        lines += [
            "archive      \(settings.endpoint.text), bucket \(settings.bucket), prefix \(settings.prefix)",
            "lines        \(report.lines), \(report.first) to \(report.last)",
            "segments     \(result.archived) archived, \(result.local) only in the journal's directory",
        ]
        if let first = report.firstTime, let last = report.lastTime { lines.append("times        \(first) to \(last)") }
        lines.append("checkpoints  \(report.checkpoints), signed through line \(report.signedThrough)")
        if report.retiredThrough > 0 {
            lines.append("removed      lines 1 to \(report.retiredThrough), by retention before they were archived")
        }
        lines += report.losses.map { "missing      \($0), recorded in line \($0.recordedIn) at \($0.time)" }
        return lines.joined(separator: "\n")
    }
}

/// A line of progress that another thread updates.
private final class SharedProgressLine: Sendable {
    private let line: Mutex<ProgressLine>

    init(_ title: String) { line = Mutex(ProgressLine(title)) }

    func show(_ done: UInt64, of all: UInt64) { line.withLock { $0.show(done, of: all) } }

    func finish() { line.withLock { $0.finish() } }
}
