internal import Foundation
public import GatewayConfiguration
package import GatewayStore
package import GatewaySupport

/// Puts the files of a backup where the configuration has them, while no gateway runs: all of them, or none.
///
/// Every file is first written beside its place and verified. What follows are renames, during which no gateway starts
/// (``RestoreMark``). A restore that was killed is completed by the same command: files that are in place already are equal
/// to those of the backup.
public struct GatewayRestore: Sendable {
    let configuration: ServerConfiguration
    let tokenKeys: [String]
    let isReplacing: Bool

    /// Creates a value for the stores of the configuration.
    ///
    /// - Parameters:
    ///   - tokenKeys: The paths of the token keys of authenticators.
    ///   - isReplacing: Whether data that differs is moved aside. Otherwise it is a reason to do nothing.
    public init(configuration: ServerConfiguration, tokenKeys: [String], isReplacing: Bool) {
        self.configuration = configuration
        self.tokenKeys = tokenKeys
        self.isReplacing = isReplacing
    }

    /// The result of a restore.
    package struct Outcome {
        package let manifest: BackupManifest
        /// The paths of the files that were put in place.
        package let restored: [String]
        /// The directories into which former data was moved.
        package let replaced: [String]
        /// The first line of the journal in the backup; nil if the present journal goes beyond it and was kept.
        package let firstLine: UInt64?
        /// Whether the journal's lines before that one are neither in the backup nor here.
        package let lacksBeginning: Bool
        /// The members for which the configuration has no place.
        package let skipped: [String]
    }

    /// Reads a backup from a file or a pipe and restores it. Blocks.
    ///
    /// - Parameter path: The name of the backup, for messages.
    /// - Throws: `BackupFailure` and other errors, if nothing was changed or a gateway cannot start with what was.
    package func run(from input: CInt, _ path: String, now: WallTime) throws -> Outcome {
        let file = configuration.ledger.file
        let directory = PrivateFiles.parent(of: file)
        if access(directory, F_OK) != 0 {
            guard geteuid() != 0 else {
                throw BackupFailure(
                    "\(directory) does not exist; create it for the gateway's user, such as: install -d -m 700 -o "
                        + "notify-gateway -g notify-gateway \(directory)")
            }
            try PrivateFiles.makeDirectory(directory)
        }
        let stores = StoresOwner(of: configuration)
        let owner = FileOwner(user: stores.user, group: stores.group)
        let lock: LockFile
        do throws(FileFailure) {
            lock = try LockFile(file + ".lock")
            try owner.own(file + ".lock")
        } catch {
            throw BackupFailure("\(error). Stop the gateway first")
        }
        defer { lock.release() }
        guard !JournalFile.isOpen(configuration.journal.directory) else {
            throw BackupFailure(
                "\(configuration.journal.directory) is in use by a process. Stop the gateway first")
        }
        var staged = StagingArea(BackupPlaces(configuration, tokenKeys: tokenKeys), owner: owner)
        do {
            let manifest = try BackupReader.read(input, path, into: &staged)
            let plan = try RestorePlan(
                staged.files, manifest, configuration, isReplacing: isReplacing)
            let replaced = try plan.carryOut(owner, stamp: BackupFile.stamp(now), ledger: file)
            let names = (try? FileManager.default.contentsOfDirectory(atPath: configuration.journal.directory)) ?? []
            let first = JournalSegmentName.segments(among: names).first?.first
            return Outcome(
                manifest: manifest, restored: plan.restored, replaced: replaced, firstLine: plan.firstLine,
                lacksBeginning: !manifest.hasWholeJournal && first == plan.firstLine,
                skipped: staged.skipped.map(\.name))
        } catch {
            staged.discard()
            throw error
        }
    }
}
