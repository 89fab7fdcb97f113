internal import GatewayCore
internal import WorkerProcesses

/// A worker's response, sent as one packet.
///
/// The packet has, in this order: version (1 byte), kind (1), the request's nonce (16). A fault then has its step (1) and
/// code (4). Findings then have the number of entries (1), the user's names (1, then texts), whether a bind was tried (1)
/// with its code (4) and detail (4), whether the account filter matched (1), the account attributes (texts, each after a
/// byte 1, or a byte 0), the number of groups (2) and their names (texts). Text follows its length of two bytes.
enum DirectoryResponse: Sendable, Hashable {
    case findings(DirectoryFindings)
    case fault(DirectoryFault)

    /// The maximum length of a packet in bytes, below the default socket buffer size.
    static let maximumLength = 131_072

    private enum Kind: UInt8 { case findings = 1, fault = 2 }

    /// Encodes the response, in the worker. A response that is too long becomes a fault.
    func packet(_ nonce: Nonce) -> [UInt8] {
        var writer = PacketWriter()
        writer.byte(DirectoryRequest.version)
        switch self {
        case .fault(let fault):
            writer.byte(Kind.fault.rawValue)
            writer.bytes(nonce.bytes)
            writer.byte(fault.step.rawValue)
            writer.number(fault.code)
        case .findings(let findings):
            writer.byte(Kind.findings.rawValue)
            writer.bytes(nonce.bytes)
            findings.write(to: &writer)
        }
        return writer.packet.count <= Self.maximumLength
            ? writer.packet : Self.fault(DirectoryFault(step: .tooManyGroups)).packet(nonce)
    }

    /// Reads the response to the request with the nonce; returns nil for any other packet.
    static func read(_ packet: UnsafeRawBufferPointer, to nonce: Nonce) -> DirectoryResponse? {
        var reader = PacketReader(packet)
        guard reader.byte() == DirectoryRequest.version, let kind = reader.byte().flatMap(Kind.init(rawValue:)),
            Nonce(&reader) == nonce
        else { return nil }
        let response: DirectoryResponse?
        switch kind {
        case .findings: response = DirectoryFindings(&reader).map(Self.findings)
        case .fault:
            guard let step = reader.byte().flatMap(DirectoryFault.Step.init(rawValue:)),
                let code = reader.number(Int32.self)
            else { return nil }
            response = .fault(DirectoryFault(step: step, code: code))
        }
        return reader.isAtEnd ? response : nil
    }
}

/// The results of a worker's searches and binds, without a decision.
struct DirectoryFindings: Sendable, Hashable {
    /// The number of entries that the search found, 2 for more than one. The other members belong to the only entry.
    var entries = 0
    /// The values of the user attribute.
    var names: [String] = []
    /// The result of the bind with the user's password; nil if it was not tried.
    var bind: BindResult?
    /// Whether the entry matches the account filter; true without such a filter, and after a refused bind.
    var isUsable = true
    var attributes = AccountAttributes()
    var groups: Set<GroupName> = []

    /// The maximum number of values of the user attribute. Further ones are ignored.
    static let maximumNames = 16
    /// The maximum length of a value in bytes. Longer values are ignored.
    static let maximumValueLength = 512
}

extension DirectoryFindings {
    fileprivate func write(to writer: inout PacketWriter) {
        writer.byte(UInt8(clamping: entries))
        writer.byte(UInt8(clamping: names.count))
        for name in names.prefix(255) { writer.text(name) }
        writer.byte(bind == nil ? 0 : 1)
        writer.number(bind?.code ?? 0)
        writer.number(bind?.detail ?? 0)
        writer.byte(isUsable ? 1 : 0)
        for name in AccountAttributes.Name.allCases {
            writer.byte(attributes.values[name] == nil ? 0 : 1)
            if let value = attributes.values[name] { writer.text(value) }
        }
        writer.number(UInt16(clamping: groups.count))
        for group in groups { writer.text(group.text) }
    }

    fileprivate init?(_ reader: inout PacketReader) {
        guard let entries = reader.byte(), let nameCount = reader.byte() else { return nil }
        self.entries = Int(entries)
        for _ in 0..<nameCount {
            guard let name = reader.text() else { return nil }
            names.append(name)
        }
        guard let hasBind = reader.byte(), let code = reader.number(Int32.self),
            let detail = reader.number(UInt32.self),
            let isUsable = reader.byte()
        else { return nil }
        bind = hasBind == 1 ? BindResult(code: code, detail: detail) : nil
        self.isUsable = isUsable == 1
        for name in AccountAttributes.Name.allCases {
            guard let isPresent = reader.byte() else { return nil }
            guard isPresent == 1 else { continue }
            guard let value = reader.text() else { return nil }
            attributes.values[name] = value
        }
        guard let count = reader.number(UInt16.self) else { return nil }
        for _ in 0..<count {
            guard let group = reader.text().flatMap(GroupName.init) else { return nil }
            groups.insert(group)
        }
    }
}

/// The reason why a worker has no findings.
struct DirectoryFault: Sendable, Hashable, Error {
    /// The step that failed.
    enum Step: UInt8, Sendable, CaseIterable {
        /// The handle could not be made: an invalid option or CA file.
        case settings = 1
        /// TLS or StartTLS failed: the server has none, or its certificate is not of a trusted authority.
        case encryption = 2
        /// The bind of the gateway's own account failed.
        case serviceBind = 3
        /// The search for the user's entry failed.
        case search = 4
        /// The account filter could not be evaluated.
        case accountFilter = 5
        /// The search for groups failed.
        case groups = 6
        /// The user has more groups than are read.
        case tooManyGroups = 7
        /// No address of the server accepted a connection.
        case connection = 8
        /// The server's certificate is for another name.
        case serverName = 9
    }

    let step: Step
    /// The LDAP result code; negative for faults that libldap found.
    var code: Int32 = 0
}
