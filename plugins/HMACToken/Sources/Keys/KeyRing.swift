internal import GatewayCore
internal import GatewaySupport

/// The keys of a valid key file, which tokens are verified with.
struct KeyRing: Sendable {
    /// A key with the HMAC context for its secret.
    struct Entry: Sendable {
        let key: TokenKey
        let hmac: SharedHMAC
    }

    /// The keys in the order of the file; never empty.
    let keys: [TokenKey]
    /// The keys by id.
    let entries: [String: Entry]
    /// The keys by the encoded JOSE header of their tokens, in the header's usual spellings.
    let entriesByHeader: [String: Entry]

    /// The version of the file.
    let version: FileVersion

    /// Reads a key file on the file pool.
    static func load(_ file: String, context: PluginContext) async throws(ConfigurationError) -> KeyRing {
        let names = context.names
        let result: Result<KeyRing, ConfigurationError>
        do {
            result = try await context.filePool.run {
                do throws(ConfigurationError) { return .success(try KeyRing(file, names: names)) } catch {
                    return .failure(error)
                }
            }
        } catch {
            throw ConfigurationError(file: file, "was not read: the queue of the file threads is full; try again")
        }
        return try result.get()
    }

    /// Reads a key file. Blocks.
    init(_ file: String, names: NameRules) throws(ConfigurationError) {
        let problems = ConfigurationProblems()
        let text: String
        do {
            text = try SecretFile.text(at: file, remedy: "notify-gateway keys rotate")
        } catch { throw ConfigurationError([error]) }
        let document = TokenKeysDocument(text, file: file, names: names, problems: problems)
        guard problems.all.isEmpty else { throw ConfigurationError(problems.all) }
        guard !document.keys.isEmpty else { throw ConfigurationError(file: file, "has no keys") }
        keys = document.keys
        var entries: [String: Entry] = [:]
        var entriesByHeader: [String: Entry] = [:]
        for key in document.keys {
            guard let hmac = SharedHMAC(key.algorithm.digest, key: key.secret) else {
                throw ConfigurationError(file: file, "the system's libcrypto rejects \(key.algorithm.rawValue)")
            }
            let entry = Entry(key: key, hmac: hmac)
            entries[key.id] = entry
            for header in JoseHeader.usualSpellings(of: key) { entriesByHeader[header] = entry }
        }
        version = FileVersion(of: file, text: text)
        self.entries = entries
        self.entriesByHeader = entriesByHeader
    }

    /// Returns the number of keys of `former` that are missing here or differ.
    func losses(since former: KeyRing) -> Int {
        former.keys.count { old in entries[old.id].map { !$0.key.isEqual(to: old) } ?? true }
    }

    /// Returns the key that signs at the given time: the first in the file that is valid and allowed to issue tokens.
    func signingEntry(at now: WallTime) -> Entry? {
        keys.signing(at: now).flatMap { entries[$0.id] }
    }
}
