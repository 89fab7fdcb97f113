internal import CLDAP
internal import GatewaySupport
internal import WorkerProcesses

/// A request to a worker, sent as one packet.
///
/// The packet has, in this order: version (1 byte), operation (1), nonce (16), StartTLS (1), scope (1), timeout in
/// milliseconds (4), the texts of the server and the search, then the service's password and the user's password. Texts
/// and passwords follow their length of two bytes; numbers have their most significant byte first.
struct DirectoryRequest: Sendable {
    /// The work of the worker.
    enum Operation: UInt8, Sendable, CaseIterable {
        /// Searches the user's entry and binds with the user's password.
        case login = 1
        /// Searches the user's entry.
        case accountStatus = 2
    }

    static let version: UInt8 = 1
    /// The size of a receive buffer in bytes: larger than any valid packet, since every field is bounded.
    static let maximumLength = 32_768
    /// The maximum length of a text in bytes.
    static let maximumTextLength = 2048
    private static let maximumSecretLength = 1024

    let operation: Operation
    let server: DirectoryServer
    let search: AccountSearch
    /// The filter for the user's entry, with the escaped name.
    let filter: String
    /// The login name, for filters of groups.
    let user: String
    /// The user's password. Empty for an account check.
    let password: Secret
}

/// The server and the account that the gateway has there.
struct DirectoryServer: Sendable {
    var url: String
    var usesStartTLS: Bool
    /// A PEM file with the authorities that may sign the server's certificate; empty for a connection without TLS.
    var authorities: String
    /// The DN of the gateway's own account; empty for anonymous searches.
    var bindDN: String
    var bindPassword: Secret
    /// The limit of the connection and of each operation in milliseconds.
    var timeout: UInt32

    /// Returns whether a connection for one value can serve the other.
    func isSame(as other: DirectoryServer) -> Bool {
        url == other.url && usesStartTLS == other.usesStartTLS && authorities == other.authorities
            && bindDN == other.bindDN && bindPassword.isEqual(to: other.bindPassword) && timeout == other.timeout
    }
}

/// The search for an account and its groups.
struct AccountSearch: Sendable, Hashable {
    /// The depth of a search below its base.
    enum Scope: String, Sendable, CaseIterable {
        case subtree
        case oneLevel = "one-level"

        /// The value of the protocol (RFC 4511, section 4.5.1.2).
        var number: UInt8 { self == .subtree ? 2 : 1 }
    }

    var base: String
    var scope: Scope
    var userAttribute: String
    /// A filter that the entry of a usable account matches; empty for none.
    var accountFilter: String
    /// The DN below which groups count; empty if groups are not read.
    var groupBase: String
    /// The attribute of the user's entry with the DNs of groups; empty if they are searched.
    var groupAttribute: String
    /// The filter for groups with `{dn}` and `{user}`; empty if they are read from the attribute.
    var groupFilter: String
    /// The type of a group's relative name, whose value is the name of the group.
    var groupName: String

    fileprivate var texts: [String] {
        [base, userAttribute, accountFilter, groupBase, groupAttribute, groupFilter, groupName]
    }
}

extension DirectoryRequest: WorkerQuery {
    static let maximumResponseLength = DirectoryResponse.maximumLength

    func packet(_ nonce: Nonce) -> WipedBuffer? {
        var head = PacketWriter()
        head.byte(Self.version)
        head.byte(operation.rawValue)
        head.bytes(nonce.bytes)
        head.byte(server.usesStartTLS ? 1 : 0)
        head.byte(search.scope.number)
        head.number(server.timeout)
        for text in [server.url, server.authorities, server.bindDN, filter, user] + search.texts {
            guard text.utf8.count <= Self.maximumTextLength else { return nil }
            head.text(text)
        }
        let secrets = [server.bindPassword, password]
        guard secrets.allSatisfy({ $0.count <= Self.maximumSecretLength }) else { return nil }
        let buffer = WipedBuffer(count: head.packet.count + secrets.reduce(0) { $0 + 2 + $1.count })
        buffer.bytes.copyBytes(from: head.packet)
        var position = head.packet.count
        for secret in secrets {
            buffer.bytes[position] = UInt8(secret.count >> 8)
            buffer.bytes[position + 1] = UInt8(secret.count & 255)
            secret.withUnsafeBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[(position + 2)...]).copyMemory(from: bytes)
            }
            position += 2 + secret.count
        }
        return buffer
    }

    /// Decodes a packet, in the worker.
    static func read(_ packet: UnsafeRawBufferPointer) -> (request: DirectoryRequest, nonce: Nonce)? {
        var reader = PacketReader(packet)
        guard reader.byte() == version, let operation = reader.byte().flatMap(Operation.init(rawValue:)),
            let nonce = Nonce(&reader), let startTLS = reader.byte(), startTLS <= 1, let scope = reader.byte(),
            let timeout = reader.number(UInt32.self)
        else { return nil }
        var texts: [String] = []
        for _ in 0..<12 {
            guard let text = reader.text() else { return nil }
            texts.append(text)
        }
        guard let scope = AccountSearch.Scope.allCases.first(where: { $0.number == scope }),
            let bindPassword = secret(&reader), let password = secret(&reader), reader.isAtEnd,
            (operation == .login) == (password.count > 0)
        else { return nil }
        let server = DirectoryServer(
            url: texts[0], usesStartTLS: startTLS == 1, authorities: texts[1], bindDN: texts[2],
            bindPassword: bindPassword, timeout: timeout)
        let search = AccountSearch(
            base: texts[5], scope: scope, userAttribute: texts[6], accountFilter: texts[7], groupBase: texts[8],
            groupAttribute: texts[9], groupFilter: texts[10], groupName: texts[11])
        let request = DirectoryRequest(
            operation: operation, server: server, search: search, filter: texts[3], user: texts[4], password: password)
        return (request, nonce)
    }

    static func response(in packet: UnsafeRawBufferPointer, to nonce: Nonce) -> DirectoryResponse? {
        DirectoryResponse.read(packet, to: nonce)
    }

    static func allowsReuse(after response: DirectoryResponse) -> Bool { true }

    private static func secret(_ reader: inout PacketReader) -> Secret? {
        guard let length = reader.number(UInt16.self), length <= maximumSecretLength else { return nil }
        return reader.bytes(Int(length)).map { Secret($0) }
    }
}
