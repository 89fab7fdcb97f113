internal import GatewayCore
internal import GatewaySupport
internal import WorkerProcesses

/// A request to a worker, sent as one packet.
///
/// The packet has, in this order: version (1 byte), operation (1), nonce (16), minimum uid (4), then service, user,
/// account, remote host and password, each after its length of two bytes. Numbers have their most significant byte
/// first. The password ends with the packet's only NUL, so that the worker can pass it to C without a copy. An
/// account check has an empty password without a NUL.
struct WorkerRequest: Sendable {
    /// The functions of libpam that the worker calls.
    enum Operation: UInt8, Sendable, CaseIterable {
        /// Calls `pam_authenticate`, then `pam_acct_mgmt`.
        case login = 1
        /// Calls `pam_acct_mgmt` only.
        case accountStatus = 2
    }

    static let version: UInt8 = 3
    /// The size of a receive buffer in bytes: larger than any valid packet, since names and passwords are bounded.
    static let maximumLength = 4096

    let operation: Operation
    let service: String
    let user: String
    /// The peer's address. Never a host name, which a PAM module would resolve.
    let remoteHost: String
    /// Empty for an account check.
    let password: Secret
    /// A second name of the account: its canonical name. Empty for none.
    var account = ""
    /// The modules are not called for root and for accounts with a lower uid.
    var minimumUID: UInt32 = 1

    /// Encodes the request. Returns nil if a field is longer than the gateway ever makes it.
    func packet(_ nonce: Nonce) -> WipedBuffer? {
        var head = PacketWriter()
        head.byte(Self.version)
        head.byte(operation.rawValue)
        head.bytes(nonce.bytes)
        head.number(minimumUID)
        for text in [service, user, account, remoteHost] {
            guard text.utf8.count <= 512 else { return nil }
            head.text(text)
        }
        let secretCount = operation == .login ? password.count + 1 : 0
        guard secretCount <= 1025 else { return nil }
        head.number(UInt16(secretCount))
        let buffer = WipedBuffer(count: head.packet.count + secretCount)
        buffer.bytes.copyBytes(from: head.packet)
        if operation == .login {
            password.withUnsafeBytes { secret in
                UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[head.packet.count...]).copyMemory(from: secret)
            }
            buffer.bytes[buffer.bytes.count - 1] = 0
        }
        return buffer
    }

    /// Decodes a packet, in the worker. The password that is returned includes its NUL.
    static func read(_ packet: UnsafeRawBufferPointer) -> (request: WorkerRequest, nonce: Nonce)? {
        var reader = PacketReader(packet)
        guard reader.byte() == version, let operation = reader.byte().flatMap(Operation.init(rawValue:)),
            let nonce = Nonce(&reader), let minimumUID = reader.number(UInt32.self), let service = reader.text(),
            let user = reader.text(), let account = reader.text(), let host = reader.text(),
            let length = reader.number(UInt16.self),
            let secret = reader.bytes(Int(length)), reader.isAtEnd
        else { return nil }
        switch operation {
        case .login: guard secret.count > 1, secret.firstIndex(of: 0) == secret.endIndex - 1 else { return nil }
        case .accountStatus: guard secret.isEmpty else { return nil }
        }
        let request = WorkerRequest(
            operation: operation, service: service, user: user, remoteHost: host, password: Secret(secret),
            account: account,
            minimumUID: minimumUID)
        return (request, nonce)
    }
}

extension WorkerRequest: WorkerQuery {
    static let maximumResponseLength = WorkerResponse.maximumLength

    static func response(in packet: UnsafeRawBufferPointer, to nonce: Nonce) -> WorkerReply? {
        WorkerResponse.read(packet, to: nonce).map {
            WorkerReply(response: $0, changes: WorkerResponse.changes(in: packet))
        }
    }

    static func allowsReuse(after reply: WorkerReply) -> Bool { reply.changes.isEmpty }
}

/// A worker's response, and the changes that modules made to the worker. A changed worker is replaced.
struct WorkerReply: Sendable {
    let response: WorkerResponse
    let changes: WorkerChanges
}

/// The grammar of names and passwords that are passed to PAM modules.
enum LoginGrammar {
    /// Whether a name is safe for modules, which build file names, command lines and log lines from it: 1–256 bytes
    /// without control characters, `/` or `:`, no leading `-`, and neither `.` nor `..`.
    static func isName(_ name: LoginName) -> Bool {
        let text = name.text
        // The comparison uses bytes, because a hyphen with a combining mark is another `Character`.
        guard (1...256).contains(text.utf8.count), text != ".", text != "..", text.utf8.first != UInt8(ascii: "-")
        else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: scalar != "/" && scalar != ":"
            }
        }
    }

    /// Whether a password has 1–511 bytes without NUL: libpam's `PAM_MAX_RESP_SIZE` less the terminating NUL.
    static func isPassword(_ password: Secret) -> Bool {
        guard (1...511).contains(password.count) else { return false }
        return password.withUnsafeBytes { !$0.contains(0) }
    }
}
