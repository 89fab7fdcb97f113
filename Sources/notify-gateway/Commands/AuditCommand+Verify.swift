import ArgumentParser
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewayStore
import GatewaySupport

extension AuditCommand {
    /// `audit verify`: verifies that the journal is unchanged.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Verify the journal's hash chain and checkpoints, and report the first invalid line.",
            discussion: """
                Prints OK and the verified range, or exits 1 if the journal was changed. Writes nothing: an index that \
                differs from the journal, or cannot be read, is reported with exit 1, and --discard-index has one that \
                differs rebuilt. A copy of the checkpoints is \
                needed to detect two changes after the last checkpoint: rewritten lines with a recomputed hash chain, \
                and a truncated end.

                Example: notify-gateway audit verify --copy /mnt/other/checkpoints
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var results: ResultOption
        @Option(help: "A public key as audit key prints it; may be repeated. Default: the key of journal.signing-key.")
        var key: [String] = []
        @Option(
            help: ArgumentHelp(
                "The file with the copies of checkpoints, or an extract of the system log.", valueName: "file"))
        var copy: String?

        @Flag(
            help: """
                Discard an index that differs from the journal. The next query rebuilds it, or a running gateway within \
                a minute.
                """)
        var discardIndex = false

        @Flag(
            help: ArgumentHelp(
                "Verify the archive of journal.archive, and the local segments that are not archived yet."))
        var archive = false

        func validate() throws {
            if archive, discardIndex { throw ValidationError("Give either --archive or --discard-index.") }
            for text in key where Ed25519.PublicKey(text: text) == nil {
                throw ValidationError("--key \(text) is not a public key; audit key prints one.")
            }
        }

        func run() async throws {
            let configuration = try file.load()
            let journal = configuration.journal
            let keys = try keys(journal)
            do {
                let copies = try copy.map { try CheckpointCopies(file: $0, keys: keys) }
                if let copies { try print(copies) }
                var verification = JournalVerification(directory: journal.directory, keys: keys, copies: copies)
                verification.known = knownCheckpoint(ConfiguredStore(configuration))
                verification.isBeingWritten = JournalFile.isOpen(journal.directory)
                if archive { return try await verifyArchive(of: journal, verification) }
                var progress = ProgressLine("Verifying")
                let report = try verification.run { progress.show($0, of: $1) }
                progress.finish()
                // There is no valid journal to compare the index with if the verification failed.
                var index: IndexComparison?
                if report.finding == nil {
                    // While a gateway uses the index, SQLite shares memory with it through a file of the gateway's
                    // user.
                    try StoresOwner(of: configuration).assumeForCommand()
                    index = Self.compareIndex(journal)
                }
                try print(report, index, in: journal.directory)
            } catch let failure as JournalVerification.Failure {
                throw CommandFailure.unavailable(failure.description)
            }
        }

        private func keys(_ journal: ServerConfiguration.JournalSection) throws -> [Ed25519.PublicKey] {
            if !key.isEmpty { return key.compactMap(Ed25519.PublicKey.init(text:)) }
            do {
                return [
                    try SigningKeyFile.open(journal.signingKey, outside: journal.directory, mayCreate: false).publicKey
                ]
            } catch {
                throw CommandFailure.unavailable("\(error.description). Give the public key with --key.")
            }
        }

        /// Returns the checkpoint in the ledger. If the ledger cannot be read, the journal is verified without it.
        private func knownCheckpoint(_ store: ConfiguredStore) -> StoredCheckpoint? {
            do throws(LedgerUnavailable) {
                return try store.journalCheckpoint()
            } catch {
                Console.printMessage(
                    "The journal cannot be compared with the checkpoint in the ledger: \(error.detail)")
                return nil
            }
        }

        private func print(_ copies: CheckpointCopies) throws {
            // An empty copy would match every journal.
            if copies.count == 0 {
                throw CommandFailure.refused("The copy contains no checkpoint that a known key signed.")
            }
            if copies.unreadable > 0 {
                Console.printMessage("The copy contains \(copies.unreadable) lines that no known key signed.")
            }
        }

        private static func compareIndex(_ journal: ServerConfiguration.JournalSection) -> IndexComparison {
            var progress = ProgressLine("Comparing the index")
            defer { progress.finish() }
            return AuditTrail.compareIndex(directory: journal.directory) { progress.show($0, of: $1) }
        }

        /// Returns the sentence on what happens to an index that differs from the journal.
        private func remedy(in directory: String) -> String {
            guard discardIndex else {
                return "Nothing was changed; audit verify --discard-index has it rebuilt."
            }
            let trail = AuditTrail(directory: directory)
            defer { trail.close() }
            if let failure = trail.discardIndex() { return "It cannot be discarded: \(failure.description)." }
            return "It was discarded; the next query rebuilds it, or a running gateway within seconds."
        }

        private func print(
            _ report: JournalVerification.Report, _ index: IndexComparison?, in directory: String
        ) throws {
            if results.json {
                try results.print(.object(members(report, index)))
            } else {
                try Console.printResult(text(report, index))
            }
            if let finding = report.finding {
                let place =
                    finding.number == finding.through
                    ? "line \(finding.number)" : "lines \(finding.number) to \(finding.through)"
                throw CommandFailure.refused("Verification failed at \(place): \(finding.what).")
            }
            if !report.losses.isEmpty {
                let what = report.losses.map(\.description).joined(separator: "; ")
                throw CommandFailure.refused("The journal is incomplete: \(what).")
            }
            switch index {
            case nil, .absent?, .agrees?: break
            case .differs(let detail)?:
                throw CommandFailure.refused("The index differs from the journal: \(detail). \(remedy(in: directory))")
            case .unreadable(let detail)?:
                throw CommandFailure.refused(
                    """
                    The journal is unchanged, but its index cannot be read: \(detail). Verify again. If it still \
                    cannot be read, stop the gateway and delete \(directory)/index-*; the index is derived from the \
                    journal, and the next start or query rebuilds it.
                    """)
            }
        }

        private func text(_ report: JournalVerification.Report, _ index: IndexComparison?) -> String {
            var lines: [String] = []
            if report.isGood {
                lines.append(report.lines == 0 ? "OK: the journal is empty." : "OK: the journal is unchanged.")
            }
            lines += [
                "lines        \(report.lines), \(report.first) to \(report.last)",
                "segments     \(report.segments)",
            ]
            if let first = report.firstTime, let last = report.lastTime {
                lines.append("times        \(first) to \(last)")
            }
            lines.append(
                "checkpoints  \(report.checkpoints), signed through line \(report.signedThrough)"
                    + (copy == nil ? "" : "; \(report.copiesSeen) agree with the copy"))
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
            return lines.joined(separator: "\n")
        }

        private func members(_ report: JournalVerification.Report, _ index: IndexComparison?) -> [JSONValue.Member] {
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
            return members + (report.finding?.members ?? [])
        }
    }
}
