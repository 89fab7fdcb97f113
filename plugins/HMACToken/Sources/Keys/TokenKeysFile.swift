internal import CLibcrypto
public import GatewayCore
internal import SecretFiles

/// A key file being edited: what the command `keys rotate` works on.
///
/// Load it, rotate, write it. Comments and layout of the file do not survive; order and every setting of a key do.
/// Everything here blocks.
public struct TokenKeysFile: Sendable {
    /// Where the file is.
    public let path: String
    /// The keys, in the order of the file.
    public private(set) var keys: [TokenKey]
    /// The keys that were left out because their secrets are weak: the gateway would not start with them.
    public private(set) var weakIDs: [String] = []
    private let stamp: SecretFile.Stamp?

    /// How long a key stays in the file after its end: long enough to see in the file what became of a token.
    public static let retention: Duration = .seconds(7 * 86_400)

    /// Reads the file. One that does not exist is one without keys.
    ///
    /// - Parameter dropsWeakKeys: whether keys with weak secrets are left out, to be gone when the file is written.
    /// - Throws: everything that is wrong with the file: what the gateway would not start with is not edited either.
    public static func load(
        _ path: String, dropsWeakKeys: Bool = false
    ) throws(ConfigurationFault) -> TokenKeysFile {
        let stamp = SecretFile.Stamp(path)
        if stamp == nil, SecretFile.isAbsent(path) { return TokenKeysFile(path: path, keys: [], stamp: nil) }
        let text: String
        do { text = try SecretFile.text(at: path) } catch { throw ConfigurationFault([error]) }
        let problems = ConfigurationProblems()
        let document = TokenKeysDocument(text, file: path, problems: problems, dropsWeakKeys: dropsWeakKeys)
        guard problems.all.isEmpty else { throw ConfigurationFault(problems.all) }
        return TokenKeysFile(path: path, keys: document.keys, weakIDs: document.weakIDs, stamp: stamp)
    }

    /// How long the former key is still good when nothing else is said: as long as a token that it signed a moment ago.
    public static func overlap(lifetime: Duration) -> Duration { lifetime + HMACTokenPlugin.skew }

    /// Puts a fresh key first, ends the one that signed until now after `overlap`, and drops keys that ended long ago.
    ///
    /// The fresh key may speak for whom the former one may: rotating widens nothing.
    ///
    /// - Parameters:
    ///   - id: nil for one made of the date.
    ///   - startsIn: when the fresh key begins to sign, so that every gateway has read the file by then; the former one
    ///     signs until then, and `overlap` counts from then.
    /// - Returns: the fresh key.
    @discardableResult
    public mutating func rotate(
        now: WallTime, overlap: Duration, algorithm: TokenAlgorithm = .hs256, id: String? = nil,
        startsIn: Duration = .zero
    ) throws(ConfigurationFault) -> TokenKey {
        let start = now.seconds + startsIn.components.seconds
        let id = id ?? freshID(at: now)
        guard TokenKey.isID(id) else { throw fault("\"\(id)\" is no key id: 1 to 64 of A-Z a-z 0-9 . _ -") }
        guard !keys.contains(where: { $0.id == id }) else { throw fault("has a key \"\(id)\" already") }
        let former = keys.firstIndex { $0.issues && $0.isValid(at: now) }
        let fresh = TokenKey(
            id: id, algorithm: algorithm, notBefore: WallTime(seconds: start), notAfter: nil,
            subjects: former.flatMap { keys[$0].subjects }, groups: former.flatMap { keys[$0].groups }, issues: true,
            secret: try freshSecret(for: algorithm))
        if let former {
            // Rounded up: no token may be refused for the sake of a fraction.
            let end = WallTime(seconds: start + 1 + overlap.components.seconds)
            keys[former].notAfter = min(keys[former].notAfter ?? end, end)
        }
        let oldest = WallTime(seconds: now.seconds - Self.retention.components.seconds)
        keys.removeAll { $0.notAfter.map { $0 < oldest } ?? false }
        keys.insert(fresh, at: 0)
        return fresh
    }

    /// Reads the file, changes it and writes it, while no other command can: of many at once none undoes another's change.
    ///
    /// - Throws: Everything that is wrong with the file, what `change` throws, and where another command does not let go of the
    ///   file's directory. Nothing is changed then.
    public static func edit<Result>(
        _ path: String, dropsWeakKeys: Bool = false,
        _ change: (inout TokenKeysFile) throws(ConfigurationFault) -> Result
    ) throws(ConfigurationFault) -> Result {
        let lock: SecretFile.Lock
        do { lock = try SecretFile.Lock(path) } catch { throw ConfigurationFault([error]) }
        var file = try load(path, dropsWeakKeys: dropsWeakKeys)
        let result = try change(&file)
        try file.write(holding: lock)
        return result
    }

    /// Replaces the file at once: readers see the old one or the new one. A new file has mode 0600.
    ///
    /// - Throws: where the file has been changed since it was loaded, or cannot be written; it is then as it was.
    public func write() throws(ConfigurationFault) {
        let lock: SecretFile.Lock
        do { lock = try SecretFile.Lock(path) } catch { throw ConfigurationFault([error]) }
        try write(holding: lock)
    }

    private func write(holding lock: SecretFile.Lock) throws(ConfigurationFault) {
        guard SecretFile.Stamp(path) == stamp else { throw fault("was changed by somebody else meanwhile; try again") }
        do { try SecretFile.replace(path, with: text, holding: lock) } catch { throw ConfigurationFault([error]) }
    }

    /// `k20261121T070000Z`, with a number behind where there is such a key already.
    private func freshID(at now: WallTime) -> String {
        let date = "k" + WallTime(seconds: now.seconds).description.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        let taken = Set(keys.map(\.id))
        // One of more names than there are keys is free.
        return (1...keys.count + 1).lazy.map { $0 == 1 ? date : "\(date)-\($0)" }.first { !taken.contains($0) } ?? date
    }

    private func freshSecret(for algorithm: TokenAlgorithm) throws(ConfigurationFault) -> Secret {
        var bytes = [UInt8](repeating: 0, count: algorithm.keyByteCount)
        defer { OPENSSL_cleanse(&bytes, bytes.count) }
        // Random bytes that look weak are rarer than one in a million, and the gateway would not start with them.
        for _ in 0..<8 {
            guard RAND_priv_bytes(&bytes, Int32(bytes.count)) == 1 else {
                throw fault("the system's libcrypto has no randomness")
            }
            if KeyStrength.weakness(of: bytes, for: algorithm) == nil,
                !TypedWords.isTyped(Base64.encode(bytes, .standard))
            {
                return Secret(bytes)
            }
        }
        throw fault("the system's libcrypto gives bytes that are not random")
    }

    private func fault(_ message: String) -> ConfigurationFault { ConfigurationFault(file: path, message) }
}
