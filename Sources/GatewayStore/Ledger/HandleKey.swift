internal import GatewayCore
internal import GatewaySupport

/// The ledger's key for a device handle: the push service and a keyed digest of the handle.
struct HandleKey: Sendable, Hashable {
    let service: PushService
    let digest: KeyedDigest
}

extension HandleKey {
    /// Decodes the columns `service` and `handle`; nil if either is NULL.
    init?(row: SQLRow) throws(LedgerUnavailable) {
        guard let service = try row.optional("service", as: String.self),
            let digest = try row.optional("handle", as: [UInt8].self)
        else { return nil }
        guard let service = PushService(rawValue: service), let digest = KeyedDigest(digest) else {
            throw LedgerUnavailable("the ledger contains an invalid handle")
        }
        self.init(service: service, digest: digest)
    }
}

/// Derives the keys of handles with a secret that is stored in a file beside the database.
///
/// Without the secret, the database alone does not reveal the handles, and guesses cannot be checked against it.
struct HandleDigester: Sendable {
    private let digester: KeyedDigester

    /// Reads the secret from its file.
    ///
    /// - Parameter mayCreate: Whether a missing file may be created. Only for a new database: with another secret, all
    ///   handles of an existing one would look unbound, and any user could claim them.
    init(keyFile path: String, mayCreate: Bool) throws(LedgerUnavailable) {
        do throws(KeyFile.Failure) {
            digester = KeyedDigester(key: try KeyFile.open(path, mayCreate: mayCreate))
        } catch {
            throw LedgerUnavailable(error.description)
        }
    }

    /// Returns the key of a handle.
    func key(of handle: DeviceHandle) throws(LedgerUnavailable) -> HandleKey {
        try key(of: handle.text, handle.service)
    }

    /// Returns the keys under which an earlier version, which spelled some handles differently, may have stored the
    /// handle.
    func formerKeys(of handle: DeviceHandle) throws(LedgerUnavailable) -> [HandleKey] {
        var keys: [HandleKey] = []
        for text in handle.formerTexts { keys.append(try key(of: text, handle.service)) }
        return keys
    }

    private func key(of text: String, _ service: PushService) throws(LedgerUnavailable) -> HandleKey {
        HandleKey(service: service, digest: try digest(Array(service.rawValue.utf8), Array(text.utf8)))
    }

    /// Returns the digest that identifies the secret in the database.
    func fingerprint() throws(LedgerUnavailable) -> KeyedDigest {
        try digest(Array("fingerprint of the ledger's key".utf8), [])
    }

    /// Returns the digest that identifies the content of an import entry.
    func digest(of content: [UInt8]) throws(LedgerUnavailable) -> KeyedDigest {
        try digest(Array("content of an import".utf8), content)
    }

    /// Returns the digest that stands for a gateway's account lists. Equal lists have equal digests at all gateways of a
    /// store, because they have the same secret.
    func digest(ofAccountLists lists: [UInt8]) throws(LedgerUnavailable) -> KeyedDigest {
        try digest(Array("account lists".utf8), lists)
    }

    private func digest(_ first: [UInt8], _ second: [UInt8]) throws(LedgerUnavailable) -> KeyedDigest {
        guard let digest = digester.digest(first, second) else {
            throw LedgerUnavailable("libcrypto cannot compute a digest")
        }
        return digest
    }
}

/// Statements on handles that an earlier version spelled differently. The key is a digest of the spelling, so such a
/// handle has a different key.
extension LedgerTables {
    /// Returns whether a registration is bound to one of the former keys, and none to the current key.
    func registration(boundToAnyOf former: [HandleKey], unlessBound key: HandleKey) throws -> Bool {
        guard try registration(boundTo: key) == nil else { return false }
        return try former.contains { try registration(boundTo: $0) != nil }
    }

    /// Changes the rows of the first bound former key to the current key, unless the current key is bound.
    func adopt(_ former: [HandleKey], as key: HandleKey) throws {
        guard try registration(boundTo: key) == nil,
            let found = try former.first(where: { try registration(boundTo: $0) != nil })
        else { return }
        for table in ["registration", "hand_over"] {
            try execute(
                sql: "UPDATE \(table) SET handle = ? WHERE service = ? AND handle = ?",
                arguments: [key.digest.bytes, found.service.rawValue, found.digest.bytes])
        }
    }
}
