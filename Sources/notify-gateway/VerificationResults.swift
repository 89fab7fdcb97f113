import GatewayCore
import GatewayOperations
import GatewayStore
import GatewaySupport

/// The results of `audit verify`, as a text, as members of a JSON object, and as an error.
struct VerificationResults {
    let report: JournalVerification.Report
    /// Nil if the journal has a problem.
    let index: IndexComparison?
    /// The journals of the other gateways; nil if the store has one gateway or the journal has a problem.
    let nodes: Result<[NodeJournalVerification.Result]?, LedgerUnavailable>
    /// Whether checkpoint copies were compared.
    let isComparedWithCopy: Bool

    private var otherJournals: [NodeJournalVerification.Result] { (try? nodes.get()) ?? [] }

    /// Throws the error of the first problem.
    ///
    /// - Parameters:
    ///   - directory: The journal's directory.
    ///   - remedy: Returns the sentence on what happens to an index that differs from the journal.
    func checkSuccess(in directory: String, remedy: () -> String) throws(CommandFailure) {
        if let finding = report.finding {
            let place =
                finding.number == 0
                ? ""
                : finding.number == finding.through
                    ? " at line \(finding.number)" : " at lines \(finding.number) to \(finding.through)"
            throw .refused("Verification failed\(place): \(finding.what).")
        }
        if !report.losses.isEmpty {
            let what = report.losses.map(\.description).joined(separator: "; ")
            throw .refused("The journal is incomplete: \(what).")
        }
        let problems = otherJournals.compactMap { node in node.finding.map { "\(node.host): \($0)" } }
        if !problems.isEmpty {
            throw .refused(
                "Verification failed for the journals of other gateways: \(problems.joined(separator: "; ")).")
        }
        switch index {
        case nil, .absent?, .agrees?: break
        case .differs(let detail)?: throw .refused("The index differs from the journal: \(detail). \(remedy())")
        case .unreadable(let detail)?:
            throw .refused(
                """
                The journal is unchanged, but its index cannot be read: \(detail). Verify again. If it still \
                cannot be read, stop the gateway and delete \(directory)/index-*; the index is derived from the \
                journal, and the next start or query rebuilds it.
                """)
        }
        if case .failure(let failure) = nodes {
            throw .unavailable(
                "The journal is unchanged, but those of the other gateways cannot be read from the store: \(failure.detail)"
            )
        }
    }

    /// One line for each fact.
    var text: String {
        var lines: [String] = []
        if report.isGood {
            lines.append(report.lines == 0 ? "OK: the journal is empty." : "OK: the journal is unchanged.")
        }
        let problems = otherJournals.count { $0.finding != nil }
        if problems > 0 {
            lines.append("FAILED: the journals of other gateways have problems: \(problems), see below.")
        }
        lines += [
            "lines        \(report.lines), \(report.first) to \(report.last)",
            "segments     \(report.segments)",
        ]
        if let first = report.firstTime, let last = report.lastTime { lines.append("times        \(first) to \(last)") }
        lines.append(
            "checkpoints  \(report.checkpoints), signed through line \(report.signedThrough)"
                + (isComparedWithCopy ? "; \(report.copiesSeen) agree with the copy" : ""))
        if report.retiredThrough > 0 {
            lines.append("removed      lines 1 to \(report.retiredThrough), by retention")
        }
        for loss in report.losses {
            lines.append("missing      \(loss), recorded in line \(loss.recordedIn) at \(loss.time)")
        }
        switch index {
        case nil: break
        case .absent?: lines.append("index        none; closed segments get one with the next query")
        case .agrees(let count)?: lines.append("index        agrees on \(count) lines")
        case .differs?: lines.append("index        differs")
        case .unreadable(let detail)?: lines.append("index        cannot be read: \(detail)")
        }
        return (lines + otherJournals.map(Self.line)).joined(separator: "\n")
    }

    private static func line(_ node: NodeJournalVerification.Result) -> String {
        let start = "gateway      \(node.host.printable): "
        if let finding = node.finding { return start + finding.printable }
        var facts = ["lines \(node.first) to \(node.last) in the database", "\(node.matches) recorded heads match"]
        if node.removed > 0 { facts.append("\(node.removed) recorded heads are of expired lines") }
        if let count = node.verifiedLines { facts.append("\(count) lines verified") }
        return start + facts.joined(separator: "; ")
    }

    /// The members of the JSON object.
    var members: [JSONValue.Member] {
        var members = report.members
        switch index {
        case nil: break
        case .absent?: members.append(.init("index", .string("absent")))
        case .agrees(let count)?:
            members += [.init("index", .string("agrees")), .init("index_lines", .number("\(count)"))]
        case .differs(let detail)?:
            members += [.init("index", .string("differs")), .init("index_detail", .string(detail))]
        case .unreadable(let detail)?:
            members += [.init("index", .string("unreadable")), .init("index_detail", .string(detail))]
        }
        if case .success(let nodes?) = nodes { members.append(.init("gateways", .array(nodes.map(\.item)))) }
        return members + (report.finding?.members ?? [])
    }
}
