internal import GatewayCore
internal import WorkerProcesses

/// A worker's response, sent as one packet.
///
/// The packet has, in this order: version (1 byte), kind (1), the request's nonce (16), the changes that modules made
/// to the worker process (1). An error then has its number (1), and an invalid stack its problem (text). Results then
/// have the two codes (1 each, 255 for a function that was not called), the facts (1), the user (text), and the kind of
/// the account entry (1). A found account adds the uid (4), the number of groups (2) and each group (text). Text follows
/// its length of two bytes.
enum WorkerResponse: Sendable, Hashable {
    case workerResult(WorkerResult)
    case rejection(WorkerError)
    /// The modules were not called, because the service's stack has this problem.
    case invalidStack(String)

    /// The maximum length of a packet in bytes, below the default socket buffer size.
    static let maximumLength = 131_072
    private static let notCalled: UInt8 = 255

    private enum Kind: UInt8 { case workerResult = 1, rejection = 2, invalidStack = 3 }
    private enum EntryKind: UInt8 { case found = 1, absent = 2, unreadable = 3 }

    /// Returns the changes that modules made to the worker that sent the packet.
    static func changes(in packet: UnsafeRawBufferPointer) -> WorkerChanges {
        packet.count > 2 + Nonce.count ? WorkerChanges(rawValue: packet[2 + Nonce.count]) : []
    }

    /// Encodes the response, in the worker. A response that is too long becomes an error.
    func packet(_ nonce: Nonce, after changes: WorkerChanges = []) -> [UInt8] {
        var writer = PacketWriter()
        writer.byte(WorkerRequest.version)
        switch self {
        case .rejection(let rejection):
            writer.byte(Kind.rejection.rawValue)
            writer.bytes(nonce.bytes)
            writer.byte(changes.rawValue)
            writer.byte(rejection.rawValue)
        case .invalidStack(let problem):
            writer.byte(Kind.invalidStack.rawValue)
            writer.bytes(nonce.bytes)
            writer.byte(changes.rawValue)
            writer.text(String(decoding: problem.utf8.prefix(1024).filter { $0 != 0 }, as: UTF8.self))
        case .workerResult(let workerResult):
            writer.byte(Kind.workerResult.rawValue)
            writer.bytes(nonce.bytes)
            writer.byte(changes.rawValue)
            writer.byte(workerResult.authentication?.number ?? Self.notCalled)
            writer.byte(workerResult.account?.number ?? Self.notCalled)
            writer.byte(workerResult.facts.rawValue)
            guard workerResult.user.utf8.count <= 1024 else {
                return Self.rejection(.unreadableUser).packet(nonce, after: changes)
            }
            writer.text(workerResult.user)
            Self.write(workerResult.entry, to: &writer)
        }
        return writer.packet.count <= Self.maximumLength
            ? writer.packet : Self.rejection(.tooManyGroups).packet(nonce, after: changes)
    }

    /// Reads the response to the request with the nonce; returns nil for any other packet.
    static func read(_ packet: UnsafeRawBufferPointer, to nonce: Nonce) -> WorkerResponse? {
        var reader = PacketReader(packet)
        guard reader.byte() == WorkerRequest.version, let kind = reader.byte().flatMap(Kind.init(rawValue:)),
            Nonce(&reader) == nonce, reader.byte() != nil
        else { return nil }
        let answer: WorkerResponse?
        switch kind {
        case .rejection: answer = reader.byte().flatMap(WorkerError.init(rawValue:)).map(Self.rejection)
        case .invalidStack: answer = reader.text().map(Self.invalidStack)
        case .workerResult: answer = workerResult(&reader).map(Self.workerResult)
        }
        return reader.isAtEnd ? answer : nil
    }

    private static func workerResult(_ reader: inout PacketReader) -> WorkerResult? {
        guard let authentication = reader.byte(), let account = reader.byte(), let facts = reader.byte(),
            let user = reader.text(), let entry = entry(&reader)
        else { return nil }
        func code(_ byte: UInt8) -> PAMCode? { byte == notCalled ? nil : PAMCode(CInt(byte)) }
        return WorkerResult(
            authentication: code(authentication), account: code(account), user: user, entry: entry,
            facts: WorkerResult.Facts(rawValue: facts))
    }

    private static func write(_ entry: WorkerResult.Entry, to writer: inout PacketWriter) {
        switch entry {
        case .absent: writer.byte(EntryKind.absent.rawValue)
        case .unreadable: writer.byte(EntryKind.unreadable.rawValue)
        case .found(let account):
            writer.byte(EntryKind.found.rawValue)
            writer.number(account.uid)
            writer.number(UInt16(clamping: account.groups.count))
            for group in account.groups { writer.text(group.text) }
        }
    }

    private static func entry(_ reader: inout PacketReader) -> WorkerResult.Entry? {
        guard let kind = reader.byte().flatMap(EntryKind.init(rawValue:)) else { return nil }
        switch kind {
        case .absent: return .absent
        case .unreadable: return .unreadable
        case .found:
            guard let uid = reader.number(UInt32.self), let count = reader.number(UInt16.self) else { return nil }
            var groups: Set<GroupName> = []
            for _ in 0..<count {
                guard let group = reader.text().flatMap(GroupName.init) else { return nil }
                groups.insert(group)
            }
            return .found(.init(uid: uid, groups: groups))
        }
    }
}

/// The results of a worker's calls: PAM codes and the account, without a decision.
struct WorkerResult: Sendable, Hashable {
    /// The result of looking the user up in the account database.
    enum Entry: Sendable, Hashable {
        case found(Account)
        /// The database has no such user.
        case absent
        /// The database could not be queried.
        case unreadable
    }

    /// An account of the database.
    struct Account: Sendable, Hashable {
        let uid: UInt32
        let groups: Set<GroupName>
    }

    /// The result of `pam_authenticate`; nil if it was not called. Neither function is called for an account whose
    /// uid is too low.
    var authentication: PAMCode?
    /// The result of `pam_acct_mgmt`; nil if it was not called.
    var account: PAMCode?
    /// The user as the modules left it (`PAM_USER`).
    var user: String
    /// The account database's entry for that user.
    var entry: Entry
    var facts: Facts = []

    /// The facts that the codes of the modules lack.
    struct Facts: OptionSet, Sendable, Hashable {
        let rawValue: UInt8

        /// `auth` calls pam_exec, which returns `PAM_SYSTEM_ERR` if its command rejects the password.
        static let commandInAuth = Facts(rawValue: 1)
        /// `account` calls pam_exec, which returns `PAM_SYSTEM_ERR` if its command rejects the account.
        static let commandInAccount = Facts(rawValue: 2)
        /// The system's shadow file says that the account has expired, or its password long ago.
        static let expired = Facts(rawValue: 4)
        /// The password in the system's shadow file is locked, and no other password can be accepted.
        static let locked = Facts(rawValue: 8)
    }
}

/// The reason why a worker has no results.
enum WorkerError: UInt8, Sendable, CaseIterable {
    /// The request names another service than the worker's.
    case otherService = 2
    /// libpam could not start a transaction.
    case notStarted = 3
    /// The user that the modules left is not valid text, or is too long.
    case unreadableUser = 4
    /// The account has more groups than fit in a packet.
    case tooManyGroups = 5
    /// A module changed the worker's user or its root directory.
    case changedProcess = 6
}
