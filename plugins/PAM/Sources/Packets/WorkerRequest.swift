internal import GatewayCore

/// One question to a worker, in one packet:
///
/// version (1 byte), operation (1), nonce (16), least uid (4), then with a length of two bytes each: service, user, account, remote
/// host, password.
/// The password ends with a NUL, the only one, so that the worker can lend it to C as it stands; a look at an account has
/// none. Numbers are most significant byte first.
struct WorkerRequest: Sendable {
    enum Operation: UInt8, Sendable, CaseIterable {
        /// `pam_authenticate`, then `pam_acct_mgmt`.
        case login = 1
        /// `pam_acct_mgmt` alone.
        case standing = 2
    }

    static let version: UInt8 = 2
    /// More than any packet has: names and passwords have bounds of their own.
    static let longest = 4096

    let operation: Operation
    let service: String
    let user: String
    /// An address, never a name: something behind PAM would look it up.
    let remoteHost: String
    /// Empty for a look at an account.
    let password: Secret
    /// The name that the account may have besides: the canonical one. Empty for none.
    var account = ""
    /// The modules are not asked about accounts with a smaller uid, nor about root.
    var minimumUID: UInt32 = 1

    /// The packet, or nil where a part is longer than any that the gateway makes.
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

    /// Reads a packet, in the worker. The password of what comes back has its NUL.
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
        case .standing: guard secret.isEmpty else { return nil }
        }
        let request = WorkerRequest(
            operation: operation, service: service, user: user, remoteHost: host, password: Secret(secret),
            account: account,
            minimumUID: minimumUID)
        return (request, nonce)
    }
}
