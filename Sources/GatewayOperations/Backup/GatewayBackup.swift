internal import Foundation
public import GatewayConfiguration
package import GatewayStore
package import GatewaySupport

/// Writes a backup of a gateway: its ledger, the texts of secure sends, all keys, and the end of the journal. The gateway may
/// run or not.
///
/// The calling process reads and writes the files, with its own rights. It needs as much space for temporary files as the
/// ledger and the texts have.
public struct GatewayBackup: Sendable {
    let configuration: ServerConfiguration
    let tokenKeys: [String]
    let includesWholeJournal: Bool

    /// Creates a value for the stores of the configuration.
    ///
    /// - Parameters:
    ///   - tokenKeys: The paths of the token keys of authenticators.
    ///   - includesWholeJournal: Whether the backup has every segment of the journal, instead of those of the last day.
    public init(configuration: ServerConfiguration, tokenKeys: [String], includesWholeJournal: Bool) {
        self.configuration = configuration
        self.tokenKeys = tokenKeys
        self.includesWholeJournal = includesWholeJournal
    }

    /// The time whose records a backup has: a day, for the sends with an idempotency key, and an hour in which it is made.
    private static let recordedTime: Int64 = 25 * 3600

    /// Writes the backup to a file or a pipe. Blocks.
    ///
    /// - Parameter path: The name of the output, for messages.
    @discardableResult
    package func write(to output: CInt, _ path: String, now: WallTime) throws -> BackupManifest {
        let temporary = try PrivateCopy()
        defer { temporary.remove() }
        let file = configuration.ledger.file
        let isFile = configuration.store == nil
        var manifest = BackupManifest(
            program: ProgramVersion.text, created: now, store: isFile ? .file : .postgreSQL, hasWholeJournal: true)
        let (ledger, texts) = (temporary.path("backup.sqlite"), temporary.path("backup.texts"))
        if isFile {
            manifest.ledger = try LedgerSnapshot.writeLedger(file, to: ledger, now: now)
            manifest.texts = try LedgerSnapshot.writeTexts(ofLedger: file, to: texts)
        }
        // After the ledger, so that the journal knows of everything in it.
        var journal = try JournalEnd(
            of: configuration.journal.directory,
            since: includesWholeJournal ? nil : now.adding(-Self.recordedTime * 1_000_000))
        defer { journal.close() }
        manifest.hasWholeJournal = journal.isWhole
        var writer = try BackupWriter(to: output, path, manifest)
        let places = BackupPlaces(configuration, tokenKeys: tokenKeys)
        if manifest.ledger != nil { try Self.add(.ledger, ledger, to: &writer, now) }
        for member in [BackupMember.ledgerKey, .digestKey] { try places.add(member, to: &writer, now) }
        if manifest.texts != nil { try Self.add(.texts, texts, to: &writer, now) }
        let others =
            [BackupMember.textsKey, .node, .signingKey] + tokenKeys.indices.map { BackupMember.tokenKeys($0 + 1) }
        for member in others { try places.add(member, to: &writer, now) }
        for segment in journal.segments {
            try writer.add(
                .segment(segment.name), contentsOf: segment.descriptor, segment.path, size: segment.size,
                modified: segment.modified)
        }
        try writer.finish()
        return manifest
    }

    private static func add(
        _ member: BackupMember, _ path: String, to writer: inout BackupWriter, _ now: WallTime
    ) throws {
        let file = try PrivateFiles.openRegular(path, O_RDONLY)
        defer { close(file) }
        let size = lseek(file, 0, SEEK_END)
        guard size >= 0 else { throw FileFailure("lseek", path) }
        try writer.add(member, contentsOf: file, path, size: Int(size), modified: now)
    }
}

/// The paths of the members of a backup in the configuration of a gateway.
struct BackupPlaces: Sendable {
    let configuration: ServerConfiguration
    let tokenKeys: [String]

    init(_ configuration: ServerConfiguration, tokenKeys: [String]) {
        self.configuration = configuration
        self.tokenKeys = tokenKeys
    }

    /// Returns the path of a member; nil if the configuration has no place for it.
    func path(of member: BackupMember) -> String? {
        let file = configuration.ledger.file
        return switch member {
        case .ledger: file
        case .ledgerKey: file + ".key"
        case .digestKey: DigestKeyFile.path(ofLedger: file)
        case .texts: StoredSecureTexts.path(ofLedger: file)
        case .textsKey: StoredSecureTexts.path(ofLedger: file) + ".key"
        case .node: file + ".node"
        case .signingKey: configuration.journal.signingKey
        case .tokenKeys(let number): number <= tokenKeys.count ? tokenKeys[number - 1] : nil
        case .segment(let segment): configuration.journal.directory + "/" + segment.text
        case .manifest, .digests: nil
        }
    }

    /// Adds a small file to a backup, if it exists.
    func add(_ member: BackupMember, to writer: inout BackupWriter, _ now: WallTime) throws {
        guard let path = path(of: member), let bytes = try PrivateFiles.read(path, atMost: 1 << 20) else { return }
        try writer.add(member, bytes, modified: now)
    }
}
