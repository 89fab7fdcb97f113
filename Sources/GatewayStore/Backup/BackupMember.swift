internal import GatewaySupport

/// A member of a backup. The set of names is closed, so a name in an archive never becomes a path.
///
/// Members stand in an archive in the order of the cases, each at most once.
package enum BackupMember: Sendable, Hashable {
    /// The versions of program and stores (``BackupManifest``).
    case manifest
    /// A copy of the ledger.
    case ledger
    /// The key of the handles in the ledger.
    case ledgerKey
    /// The key of message digests and idempotency keys in the journal.
    case digestKey
    /// A copy of the texts of secure sends.
    case texts
    /// The key that seals them.
    case textsKey
    /// The name by which a gateway knows itself in PostgreSQL.
    case node
    /// The key that signs the journal.
    case signingKey
    /// The token keys of an authenticator, by its place among those with such keys, from 1.
    case tokenKeys(Int)
    /// A segment of the journal.
    case segment(JournalSegmentName)
    /// The SHA-256 digests of all members before, as sha256sum(1) writes them.
    case digests

    /// The largest number of authenticators with token keys.
    package static let maximumTokenKeys = 99
    private static let (tokenKeysPrefix, segmentPrefix) = ("token-keys-", "journal/")
    private static let fixed: [BackupMember] = [
        .manifest, .ledger, .ledgerKey, .digestKey, .texts, .textsKey, .node, .signingKey, .digests,
    ]

    /// Parses the name of a member; nil if no member has it.
    package init?(_ name: String) {
        if let member = Self.fixed.first(where: { $0.name == name }) {
            self = member
        } else if name.hasPrefix(Self.segmentPrefix),
            let segment = JournalSegmentName(String(name.dropFirst(Self.segmentPrefix.count)))
        {
            self = .segment(segment)
        } else if name.hasPrefix(Self.tokenKeysPrefix), let number = Int(name.dropFirst(Self.tokenKeysPrefix.count)),
            (1...Self.maximumTokenKeys).contains(number)
        {
            self = .tokenKeys(number)
        } else {
            return nil
        }
        // One spelling only.
        guard self.name == name else { return nil }
    }

    /// The name in the archive.
    package var name: String {
        switch self {
        case .manifest: "manifest.json"
        case .ledger: "ledger.sqlite"
        case .ledgerKey: "ledger.sqlite.key"
        case .digestKey: "ledger.sqlite.digest.key"
        case .texts: "ledger.sqlite.texts"
        case .textsKey: "ledger.sqlite.texts.key"
        case .node: "ledger.sqlite.node"
        case .signingKey: "journal.key"
        case .tokenKeys(let number): Self.tokenKeysPrefix + String(number)
        case .segment(let segment): Self.segmentPrefix + segment.text
        case .digests: "SHA256SUMS"
        }
    }

    /// The sizes in bytes that a member may have.
    var sizes: ClosedRange<Int> {
        switch self {
        case .ledgerKey, .digestKey, .textsKey, .signingKey: KeyFile.byteCount...KeyFile.byteCount
        case .node: 1...64
        case .tokenKeys, .manifest: 1...(1 << 20)
        // About 130,000 segments.
        case .digests: 1...(16 << 20)
        case .segment: 1...Int(JournalSegment.maximumBytes)
        case .ledger, .texts: 1...TarHeader.maximumSize
        }
    }

    /// The place in an archive. Members stand in ascending order.
    var place: (Int, UInt64) {
        switch self {
        case .manifest: (0, 0)
        case .ledger: (1, 0)
        case .ledgerKey: (2, 0)
        case .digestKey: (3, 0)
        case .texts: (4, 0)
        case .textsKey: (5, 0)
        case .node: (6, 0)
        case .signingKey: (7, 0)
        case .tokenKeys(let number): (8, UInt64(number))
        case .segment(let segment): (9, segment.first)
        case .digests: (10, 0)
        }
    }
}
