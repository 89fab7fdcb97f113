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

                If the store is PostgreSQL, the journals of the other gateways in it are compared with their ends that \
                this journal records every minute. So a journal that was shortened, deleted or replaced by an older \
                copy is found here as soon as its gateway has started again. --all-lines also verifies all of their lines \
                in the store.

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

        @Flag(help: "Also verify all lines of the other gateways' journals in the store.") var allLines = false
        @Flag(
            help: ArgumentHelp(
                "Verify the archive of journal.archive, and the local segments that are not archived yet."))
        var archive = false

        func validate() throws {
            if archive, discardIndex { throw ValidationError("Give either --archive or --discard-index.") }
            if archive, allLines { throw ValidationError("Give either --archive or --all-lines.") }
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
                let store = ConfiguredStore(configuration)
                (verification.known, verification.copied) = known(store)
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
                let nodes = report.finding == nil ? verifyNodes(store, report) : .success(nil)
                let found = VerificationResults(
                    report: report, index: index, nodes: nodes, isComparedWithCopy: copy != nil)
                try results.json ? results.print(.object(found.members)) : Console.printResult(found.text)
                try found.checkSuccess(in: journal.directory) { remedy(in: journal.directory) }
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

        /// Returns the checkpoint in the ledger and the end of the copy in the store. If the store cannot be read, the
        /// journal is verified without them.
        private func known(_ store: ConfiguredStore) -> (StoredCheckpoint?, CopyHead?) {
            do throws(LedgerUnavailable) {
                return (try store.journalCheckpoint(), try store.copyHead())
            } catch {
                Console.printMessage(
                    "The journal cannot be compared with the checkpoint in the ledger: \(error.detail)")
                return (nil, nil)
            }
        }

        /// Verifies the journals of the other gateways; returns nil for a store with one gateway.
        private func verifyNodes(
            _ store: ConfiguredStore, _ report: JournalVerification.Report
        ) -> Result<[NodeJournalVerification.Result]?, LedgerUnavailable> {
            var progress = ProgressLine("Verifying lines of other gateways")
            defer { progress.finish() }
            return Result { () throws(LedgerUnavailable) in
                try store.verifyNodes(
                    report.nodeHeads, keys: key.compactMap(Ed25519.PublicKey.init(text:)), verifiesLines: allLines
                ) { progress.show($0, of: $1) }
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
    }
}
