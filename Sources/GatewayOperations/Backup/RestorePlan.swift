internal import Foundation
internal import GatewayConfiguration
internal import GatewayStore
internal import GatewaySupport

/// The renames of a restore, decided before the first one.
struct RestorePlan {
    /// The files to put in place, the ledger last.
    private let publications: [StagedFile]
    /// The files that are in place already, or that a longer journal makes unneeded.
    private let unneeded: [StagedFile]
    /// The present files to move aside, the ledger first.
    private let displaced: [String]
    /// Whether the present journal is moved aside.
    private let replacesJournal: Bool
    /// The first line of the restored journal; nil if the present one is kept.
    let firstLine: UInt64?

    /// The paths of the files that are put in place.
    var restored: [String] { publications.map(\.path) }

    /// Compares staged files with what is at their places.
    ///
    /// - Throws: `BackupFailure` if the target has other data and nothing may be replaced, or the backup is of another kind.
    init(
        _ files: [StagedFile], _ manifest: BackupManifest, _ configuration: ServerConfiguration, isReplacing: Bool
    ) throws {
        let kind: BackupManifest.Store = configuration.store == nil ? .file : .postgreSQL
        guard manifest.store == kind else {
            throw BackupFailure(
                kind == .file
                    ? "The backup is of a gateway whose store is in PostgreSQL, and the configuration has a file"
                    : "The backup is of a gateway whose store is a file, and the configuration has PostgreSQL")
        }
        var (publications, unneeded, displaced, reasons) = ([StagedFile](), [StagedFile](), [String](), [String]())
        for file in files where !file.isSegment {
            switch try file.existing() {
            case .absent: publications.append(file)
            case .same: unneeded.append(file)
            case .longer, .different:
                publications.append(file)
                displaced.append(file.path)
                reasons.append("\(file.path) exists with other content")
            }
        }
        // Texts that the ledger of the backup does not know would be another gateway's.
        let places = BackupPlaces(configuration, tokenKeys: [])
        for member in [BackupMember.texts, .textsKey] where !files.contains(where: { $0.member == member }) {
            guard manifest.store == .file, let path = places.path(of: member), access(path, F_OK) == 0 else { continue }
            displaced.append(path)
            reasons.append("\(path) exists, and the backup has none")
        }
        var journal = try RestoredJournal(files.filter(\.isSegment), in: configuration.journal.directory)
        let signingKey = publications.first { $0.member == .signingKey }
        if let path = signingKey?.path, displaced.contains(path), journal.isKept {
            journal.reject("\(configuration.journal.directory) has another journal, which another key signs")
        }
        if journal.isKept, try RestoreMark.replacesJournal(ofLedger: configuration.ledger.file) {
            journal.reject(
                "\(configuration.journal.directory) has a part of the journal that an interrupted restore moved aside")
        }
        replacesJournal = journal.reason != nil
        if let reason = journal.reason {
            reasons.append(reason)
            displaced += journal.displaced
            publications += journal.files
        } else {
            publications += journal.publications
            unneeded += journal.unneeded
        }
        guard reasons.isEmpty || isReplacing else {
            throw BackupFailure(
                "The gateway has data here: \(reasons.joined(separator: "; ")). "
                    + "--replace moves it aside and restores the backup in its place")
        }
        // SQLite would apply the log of another database to the restored one.
        for database in [BackupMember.ledger, .texts].compactMap(places.path(of:))
        where displaced.contains(database) || publications.contains(where: { $0.path == database }) {
            displaced += ["-wal", "-shm"].map { database + $0 }.filter { access($0, F_OK) == 0 }
        }
        let ledger = places.path(of: .ledger)
        self.displaced = displaced.filter { $0 == ledger } + displaced.filter { $0 != ledger }
        // In the reverse order of the backup, which begins with the ledger and its keys.
        self.publications = publications.filter(\.isSegment) + publications.filter { !$0.isSegment }.reversed()
        self.unneeded = unneeded
        firstLine = journal.isKept && journal.reason == nil ? nil : journal.files.first?.segment?.first
    }

    /// Makes the renames. Until the last one no gateway starts (`RestoreMark`).
    ///
    /// - Parameter stamp: The time in the names of directories for former data.
    /// - Returns: These directories.
    func carryOut(_ owner: FileOwner, stamp: String, ledger: String) throws -> [String] {
        if !publications.isEmpty || !displaced.isEmpty {
            try owner.own(try RestoreMark.set(ofLedger: ledger, replacesJournal: replacesJournal))
        }
        var directories: [String] = []
        for path in displaced {
            let parent = PrivateFiles.parent(of: path)
            let directory = "\(parent)/replaced-\(stamp)"
            if !directories.contains(directory) {
                try PrivateFiles.makeDirectory(directory)
                try owner.own(directory)
                directories.append(directory)
            }
            try PrivateFiles.rename(path, to: "\(directory)/\((path as NSString).lastPathComponent)")
            try PrivateFiles.synchronizeDirectory(parent)
        }
        for file in publications { try file.publish() }
        for file in unneeded { file.discard() }
        // Also the mark of an earlier command that was interrupted after its last rename.
        try RestoreMark.remove(ofLedger: ledger)
        return directories
    }
}

/// The decision about the journal: the segments of the backup are put in place, or the present journal continues them and is
/// kept, or it is another one.
private struct RestoredJournal {
    /// The segments of the backup.
    let files: [StagedFile]
    private(set) var publications: [StagedFile] = []
    private(set) var unneeded: [StagedFile] = []
    /// Whether the present journal goes beyond that of the backup.
    private(set) var isKept = false
    /// The reason why the present journal must not stay; nil if it may.
    private(set) var reason: String?
    /// The files of the present journal.
    let displaced: [String]

    init(_ files: [StagedFile], in directory: String) throws {
        self.files = files
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        displaced =
            names.filter { !$0.hasPrefix(".") && $0 != "lock" && !$0.hasPrefix("replaced-") }.sorted()
            .map { "\(directory)/\($0)" }
        let present = JournalSegmentName.segments(among: names)
        guard let first = files.first?.segment, let last = files.last?.segment else { return }
        let archived = Set(files.compactMap(\.segment))
        isKept = present.last.map { $0 > last } ?? false
        if let stray = present.first(where: { $0 > first && $0 < last && !archived.contains($0) }) {
            reject("\(directory)/\(stray.text) is of another journal")
            return
        }
        if let earlier = present.last(where: { $0 < first }),
            try !SegmentContinuity.continues(first, at: files[0].draft, after: "\(directory)/\(earlier.text)")
        {
            reject("\(directory)/\(earlier.text) does not end with the line before those of the backup")
            return
        }
        for file in files {
            switch try file.existing() {
            case .absent:
                // Retention has removed it from a journal that goes on.
                if isKept { unneeded.append(file) } else { publications.append(file) }
            case .same: unneeded.append(file)
            case .longer where file.segment == last:
                unneeded.append(file)
                isKept = true
            case .longer, .different:
                reject("\(file.path) exists with other content")
                return
            }
        }
    }

    mutating func reject(_ reason: String) { self.reason = self.reason ?? reason }
}

extension StagedFile {
    /// The segment of the journal; nil for another file.
    fileprivate var segment: JournalSegmentName? { if case .segment(let name) = member { name } else { nil } }
    fileprivate var isSegment: Bool { segment != nil }
}
