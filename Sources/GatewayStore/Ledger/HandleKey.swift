internal import GatewayCore

/// What the ledger knows a device handle by: its service and a digest that does not give the handle away.
struct HandleKey: Sendable, Hashable {
    let service: PushService
    let digest: KeyedDigest
}

/// Turns handles into keys, under a secret that lies beside the database.
///
/// Whoever gets hold of the database alone can neither read the handles nor try guesses at them.
struct HandleDigester: Sendable {
    private let digester: KeyedDigester

    /// Reads the key from its file.
    ///
    /// - Parameter mayCreate: whether a missing key may be made. Only for a new database: with another key every handle of an
    ///   old one would look unbound, and so anybody's.
    init(keyFile path: String, mayCreate: Bool) throws(LedgerUnavailable) {
        do throws(KeyFile.Failure) {
            digester = KeyedDigester(key: try KeyFile.open(path, mayCreate: mayCreate))
        } catch {
            throw LedgerUnavailable(error.description)
        }
    }

    /// The key of a handle.
    func key(of handle: DeviceHandle) throws(LedgerUnavailable) -> HandleKey {
        try key(of: handle.text, handle.service)
    }

    /// The keys under which an earlier version may have bound the handle.
    func formerKeys(of handle: DeviceHandle) throws(LedgerUnavailable) -> [HandleKey] {
        var keys: [HandleKey] = []
        for text in handle.formerTexts { keys.append(try key(of: text, handle.service)) }
        return keys
    }

    private func key(of text: String, _ service: PushService) throws(LedgerUnavailable) -> HandleKey {
        HandleKey(service: service, digest: try digest(Array(service.rawValue.utf8), Array(text.utf8)))
    }

    /// A digest by which a database knows its key again.
    func fingerprint() throws(LedgerUnavailable) -> KeyedDigest {
        try digest(Array("fingerprint of the ledger's key".utf8), [])
    }

    /// A digest by which content is known again.
    func digest(of content: [UInt8]) throws(LedgerUnavailable) -> KeyedDigest {
        try digest(Array("content of an import".utf8), content)
    }

    private func digest(_ first: [UInt8], _ second: [UInt8]) throws(LedgerUnavailable) -> KeyedDigest {
        guard let digest = digester.digest(first, second) else { throw LedgerUnavailable("libcrypto made no digest") }
        return digest
    }
}
