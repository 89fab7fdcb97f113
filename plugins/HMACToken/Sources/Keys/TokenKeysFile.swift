internal import CLibcrypto
public import GatewayCore
public import GatewaySupport

/// An editable key file, for the commands `keys rotate` and `keys list`.
///
/// Load it, rotate the key, write it. The order and every setting of a key are kept; comments and layout are lost.
/// Every operation blocks.
public struct TokenKeysFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The keys, in the order of the file.
    public private(set) var keys: [TokenKey]
    /// The ids of the keys that were dropped because of weak secrets. The gateway would not start with them.
    public private(set) var weakIDs: [String] = []
    private let stamp: SecretFile.Stamp?

    /// How long an expired key stays in the file, so that an operator can still see what happened to its tokens.
    public static let retention: Duration = .seconds(7 * 86_400)

    /// Reads the file. A file that does not exist is read as a file without keys.
    ///
    /// - Parameters:
    ///   - names: The rules by which `subjects` name users.
    ///   - dropsWeakKeys: whether keys with weak secrets are dropped. `write()` then removes them from the
    ///   file.
    /// - Throws: `ConfigurationError` with every problem of the file. A file that the gateway would reject cannot be
    ///   edited.
    public static func load(
        _ path: String, names: NameRules = NameRules(), dropsWeakKeys: Bool = false
    ) throws(ConfigurationError) -> TokenKeysFile {
        let stamp = SecretFile.Stamp(path)
        if stamp == nil, SecretFile.isAbsent(path) { return TokenKeysFile(path: path, keys: [], stamp: nil) }
        let text: String
        do { text = try SecretFile.text(at: path) } catch { throw ConfigurationError([error]) }
        let problems = ConfigurationProblems()
        let document = TokenKeysDocument(
            text, file: path, names: names, problems: problems, dropsWeakKeys: dropsWeakKeys)
        guard problems.all.isEmpty else { throw ConfigurationError(problems.all) }
        return TokenKeysFile(path: path, keys: document.keys, weakIDs: document.weakIDs, stamp: stamp)
    }

    /// Returns the default overlap of two keys: the longest time that a token signed a moment ago is accepted.
    public static func overlap(lifetime: Duration) -> Duration { lifetime + HMACTokenPlugin.skew }

    /// Inserts a new key at the front, expires the current signing key after `overlap`, and removes keys that expired
    /// more than `retention` ago.
    ///
    /// The new key has the subjects and groups of the key that it replaces, so a rotation grants nothing new.
    ///
    /// - Parameters:
    ///   - id: the new key's id; nil for an id with the date.
    ///   - startsIn: the delay before the new key signs, so that every gateway can read the file first. The current
    ///     key signs until then, and `overlap` counts from then.
    /// - Returns: the new key.
    @discardableResult
    public mutating func rotate(
        now: WallTime, overlap: Duration, algorithm: TokenAlgorithm = .hs256, id: String? = nil,
        startsIn: Duration = .zero
    ) throws(ConfigurationError) -> TokenKey {
        let start = now.seconds + startsIn.components.seconds
        let id = id ?? newID(at: now)
        guard TokenKey.isID(id) else { throw fault("\"\(id)\" is not a key id: use 1 to 64 of A-Z a-z 0-9 . _ -") }
        guard !keys.contains(where: { $0.id == id }) else { throw fault("already has a key \"\(id)\"") }
        let former = keys.firstIndex { $0.mayIssueTokens && $0.isValid(at: now) }
        let fresh = TokenKey(
            id: id, algorithm: algorithm, notBefore: WallTime(seconds: start), notAfter: nil,
            subjects: former.flatMap { keys[$0].subjects }, groups: former.flatMap { keys[$0].groups },
            mayIssueTokens: true,
            secret: try newSecret(for: algorithm))
        if let former {
            // Rounded up, so that no token is rejected because of a fraction of a second.
            let end = WallTime(seconds: start + 1 + overlap.components.seconds)
            keys[former].notAfter = min(keys[former].notAfter ?? end, end)
        }
        let oldest = WallTime(seconds: now.seconds - Self.retention.components.seconds)
        keys.removeAll { $0.notAfter.map { $0 < oldest } ?? false }
        keys.insert(fresh, at: 0)
        return fresh
    }

    /// Reads, changes and writes the file under a lock, so that concurrent commands do not overwrite each other's
    /// changes.
    ///
    /// - Throws: `ConfigurationError` with every problem of the file, the error of `change`, or a problem if another
    ///   command holds the lock too long. The file is then unchanged.
    public static func edit<Result>(
        _ path: String, names: NameRules = NameRules(), dropsWeakKeys: Bool = false,
        _ change: (inout TokenKeysFile) throws(ConfigurationError) -> Result
    ) throws(ConfigurationError) -> Result {
        let lock: SecretFile.Lock
        do { lock = try SecretFile.Lock(path) } catch { throw ConfigurationError([error]) }
        var file = try load(path, names: names, dropsWeakKeys: dropsWeakKeys)
        let result = try change(&file)
        try SecretFile.replace(path, with: file.text, loadedAs: file.stamp, holding: lock)
        return result
    }

    /// Replaces the file atomically: a reader sees the old content or the new content. A new file has mode 0600.
    ///
    /// - Throws: `ConfigurationError` if the file was changed after it was loaded, or cannot be written. The file is
    ///   then left as it was.
    public func write() throws(ConfigurationError) { try SecretFile.replace(path, with: text, loadedAs: stamp) }

    /// Returns an id such as `k20261121T070000Z`, with `-2`, `-3` and so on appended if that id is taken.
    private func newID(at now: WallTime) -> String {
        let date = "k" + WallTime(seconds: now.seconds).description.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        let taken = Set(keys.map(\.id))
        // There is one candidate more than there are keys, so at least one is free.
        return (1...keys.count + 1).lazy.map { $0 == 1 ? date : "\(date)-\($0)" }.first { !taken.contains($0) } ?? date
    }

    private func newSecret(for algorithm: TokenAlgorithm) throws(ConfigurationError) -> Secret {
        // Fewer than one of a million random secrets look weak, but the gateway would not start with one.
        for _ in 0..<8 {
            var bytes = RandomBytes.make(algorithm.keyByteCount)
            defer { OPENSSL_cleanse(&bytes, bytes.count) }
            if KeyStrength.weakness(of: bytes, for: algorithm) == nil,
                !PassphraseDetector.isTyped(Base64.encode(bytes, .standard))
            {
                return Secret(bytes)
            }
        }
        throw fault("the kernel produced bytes that are not random")
    }

    private func fault(_ message: String) -> ConfigurationError { ConfigurationError(file: path, message) }
}

extension TokenKeysFile {
    /// The file's new content.
    var text: String {
        "keys:\(keys.isEmpty ? " []" : "")\n" + keys.map { "  - \(Self.line(for: $0))\n" }.joined()
    }

    private static func line(for key: TokenKey) -> String {
        let secret = key.secret.withUnsafeBytes { String(decoding: Base64.encode($0, .standard), as: UTF8.self) }
        var settings = [
            "id: \(quoted(key.id))", "algorithm: \(key.algorithm.rawValue)", "secret: \(quoted(secret))",
        ]
        if let time = key.notBefore { settings.append("not-before: \(written(time))") }
        if let time = key.notAfter { settings.append("not-after: \(written(time))") }
        if let subjects = key.subjects { settings.append("subjects: \(list(subjects.map(\.description)))") }
        if let groups = key.groups { settings.append("groups: \(list(groups.map(\.text).sorted()))") }
        if !key.mayIssueTokens { settings.append("issue: false") }
        return "{ \(settings.joined(separator: ", ")) }"
    }

    /// Formats a time as RFC 3339, without a fraction if the fraction is zero.
    private static func written(_ time: WallTime) -> String { time.description.replacing(".000000Z", with: "Z") }

    private static func list(_ texts: [String]) -> String { "[\(texts.map(quoted).joined(separator: ", "))]" }

    /// Quotes a text as a JSON string, which is a valid double-quoted YAML 1.2 scalar and is never read as a number
    /// or a Boolean.
    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.write(string: text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
