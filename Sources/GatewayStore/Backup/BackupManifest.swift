package import GatewaySupport

/// The reason why a backup cannot be made or read, as a sentence for operators.
package struct BackupFailure: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The first member of a backup: what made it, and the versions of what is in it. A reader rejects a version that it cannot
/// read before it reads anything else.
package struct BackupManifest: Sendable, Hashable {
    /// The version of the archive's format.
    static let format = 1

    /// The kind of the store.
    package enum Store: String, Sendable, Hashable {
        /// A ledger in a file, which is in the backup.
        case file
        /// A database, which is not in the backup.
        case postgreSQL = "postgresql"
    }

    /// The version of the program that made the backup.
    package var program: String
    /// The time of the backup.
    package var created: WallTime
    package var store: Store
    /// The version of the ledger's tables; nil without a ledger.
    package var ledger: Int?
    /// The version of the texts' tables; nil without texts.
    package var texts: Int?
    /// The format of the journal.
    var journal = JournalEntry.format
    /// Whether the backup has every segment of the journal.
    package var hasWholeJournal: Bool

    package init(program: String, created: WallTime, store: Store, hasWholeJournal: Bool) {
        self.program = program
        self.created = created
        self.store = store
        self.hasWholeJournal = hasWholeJournal
    }

    /// The content of the member.
    var bytes: [UInt8] {
        var members: [JSONValue.Member] = [
            .init("format", .number("\(Self.format)")), .init("program", .string(program)),
            .init("created", .string("\(created)")), .init("store", .string(store.rawValue)),
        ]
        if let ledger { members.append(.init("ledger", .number("\(ledger)"))) }
        if let texts { members.append(.init("texts", .number("\(texts)"))) }
        members += [
            .init("journal", .number("\(journal)")), .init("whole_journal", .bool(hasWholeJournal)),
        ]
        return JSONWriter.bytes(of: .object(members)) + [UInt8(ascii: "\n")]
    }

    /// Parses the member. Throws for a version that this program cannot read.
    init(_ bytes: [UInt8]) throws(BackupFailure) {
        guard let value = try? JSONParser().parse(bytes.span), let format = value["format"]?.integer else {
            throw BackupFailure("its manifest was changed")
        }
        let made = value["program"]?.string.map { ", made by version \($0.prefix(40))" } ?? ""
        func require(_ what: String, _ version: Int64?, atMost known: Int) throws(BackupFailure) {
            guard let version, version > known else { return }
            throw BackupFailure("its \(what) has version \(version)\(made); this version reads \(known)")
        }
        try require("format", format, atMost: Self.format)
        try require("ledger", value["ledger"]?.integer, atMost: LedgerSchema.version)
        try require("file of texts", value["texts"]?.integer, atMost: SecureTextSchema.version)
        try require("journal", value["journal"]?.integer, atMost: JournalEntry.format)
        guard let program = value["program"]?.string,
            let created = value["created"]?.string.flatMap({ WallTime(rfc3339: $0) }),
            let store = value["store"]?.string.flatMap({ Store(rawValue: $0) }),
            let journal = value["journal"]?.integer.flatMap({ Int(exactly: $0) }),
            case .bool(let whole)? = value["whole_journal"]
        else { throw BackupFailure("its manifest was changed") }
        self.init(program: program, created: created, store: store, hasWholeJournal: whole)
        self.journal = journal
        ledger = value["ledger"]?.integer.flatMap { Int(exactly: $0) }
        texts = value["texts"]?.integer.flatMap { Int(exactly: $0) }
        // A changed version would otherwise be one that is accepted.
        guard self.bytes == bytes else { throw BackupFailure("its manifest was changed") }
    }

    /// Throws if a member is missing without which a gateway cannot go on.
    func requireComplete(_ members: Set<BackupMember>) throws(BackupFailure) {
        var required: [BackupMember] = [.digestKey, .signingKey]
        if store == .file { required += [.ledger, .ledgerKey] }
        if members.contains(.texts) { required.append(.textsKey) }
        if let missing = required.first(where: { !members.contains($0) }) {
            throw BackupFailure("it lacks \(missing.name)")
        }
        guard (ledger != nil) == members.contains(.ledger), (texts != nil) == members.contains(.texts) else {
            throw BackupFailure("its manifest and its members disagree")
        }
        guard members.contains(where: { if case .segment = $0 { true } else { false } }) else {
            throw BackupFailure("it lacks the end of the journal")
        }
    }
}
