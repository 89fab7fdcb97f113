internal import GatewayCore
internal import GatewaySupport

/// The content of a key file.
struct TokenKeysDocument {
    /// The keys, in the order of the file.
    private(set) var keys: [TokenKey] = []
    /// The ids of the keys that were dropped because of weak secrets. Empty unless `dropsWeakKeys` is set.
    private(set) var weakIDs: [String] = []
    private let problems: ConfigurationProblems
    private let dropsWeakKeys: Bool
    private let names: NameRules
    private var linesByID: [String: Int] = [:]

    /// Parses the text of a file. Every problem goes to `problems`.
    ///
    /// - Parameters:
    ///   - names: The rules by which `subjects` name users.
    ///   - dropsWeakKeys: whether a key with a weak secret is dropped instead of reported.
    init(
        _ text: String, file: String, names: NameRules, problems: ConfigurationProblems, dropsWeakKeys: Bool = false
    ) {
        self.names = names
        self.problems = problems
        self.dropsWeakKeys = dropsWeakKeys
        let root: ConfigurationNode
        do { root = try YAMLDocument.parse(text, file: file, concealsText: true) } catch {
            problems.add(error)
            return
        }
        let reader = ConfigurationReader(root, directory: "", problems: problems, concealsText: true)
        for (node, path) in reader.sequence("keys") ?? [] {
            let key = reader.reader(of: node, under: path)
            readKey(key)
            key.finish()
        }
        reader.finish()
    }

    private mutating func readKey(_ reader: ConfigurationReader) {
        // `id`: 1–64 of A–Z a–z 0–9 . _ -, unique. Required.
        let id = reader.required("id").flatMap { claim($0, reader) }
        // `algorithm`: HS256, HS384 or HS512. Required.
        if reader.node("algorithm") == nil { reader.report("\"algorithm\" is missing") }
        let algorithm = reader.word("algorithm", of: TokenAlgorithm.self)
        // `secret`: random bytes in base64 (RFC 4648, section 4) or hex, at least as many as the hash has. Required,
        // secret.
        var secret: Secret?
        if let text = reader.required("secret") { secret = strongSecret(text, of: id, for: algorithm, reader) }
        // `not-before`, `not-after`: RFC 3339 times. Default: no bound.
        let notBefore = Self.time("not-before", reader)
        let notAfter = Self.time("not-after", reader)
        if let notBefore, let notAfter, notAfter <= notBefore {
            reader.report("not-after", "must be later than not-before")
        }
        // `subjects`: names of users, or beginnings of names followed by *. Default: any user.
        let subjects: [SubjectPattern]? = Self.list(
            "subjects", reader, "is neither a user name nor the beginning of one followed by *",
            ifEmpty: "matches nobody; list a name, or remove the setting to match everybody"
        ) { [names] in SubjectPattern($0, names: names) }
        // `groups`: the groups that tokens may claim. Default: any group. An empty list allows none.
        let groups: [GroupName]? = Self.list(
            "groups", reader, "is not a group name: use 1 to 64 of A-Z a-z 0-9 _ . -", GroupName.init)
        // `issue`: whether new tokens are signed with the key. Default: true.
        let issues = reader.bool("issue") ?? true
        guard let id, let algorithm, let secret else { return }
        keys.append(
            TokenKey(
                id: id, algorithm: algorithm, notBefore: notBefore, notAfter: notAfter, subjects: subjects,
                groups: groups.map(Set.init), mayIssueTokens: issues, secret: secret))
    }

    private mutating func claim(_ id: String, _ reader: ConfigurationReader) -> String? {
        guard TokenKey.isID(id) else {
            reader.report("id", "is not a key id: use 1 to 64 of A-Z a-z 0-9 . _ -")
            return nil
        }
        if let line = linesByID[id] {
            reader.report("id", "is already the id of the key in line \(line)")
            return nil
        }
        linesByID[id] = reader.location.line
        return id
    }

    private mutating func strongSecret(
        _ text: String, of id: String?, for algorithm: TokenAlgorithm?, _ reader: ConfigurationReader
    ) -> Secret? {
        // Without an algorithm the secret is checked for HS256, the least demanding one, so its problems are still
        // reported.
        switch Self.secret(text, for: algorithm ?? .hs256) {
        case .success(let secret): return secret
        case .failure(let weakness):
            if dropsWeakKeys, let id {
                weakIDs.append(id)
            } else {
                reader.report("secret", weakness.message)
            }
            return nil
        }
    }

    private struct Weakness: Error { let message: String }

    private static func secret(_ text: String, for algorithm: TokenAlgorithm) -> Result<Secret, Weakness> {
        let hex = bytes(ofHex: text)
        guard let bytes = hex ?? Base64.decode(Array(text.utf8).span, .standard) else {
            return .failure(
                Weakness(message: "is neither base64 (RFC 4648, section 4) nor hex; \(KeyStrength.remedy)"))
        }
        if let message = KeyStrength.weakness(of: bytes, for: algorithm) { return .failure(Weakness(message: message)) }
        if hex == nil, PassphraseDetector.isTyped(text.utf8) {
            return .failure(
                Weakness(message: "was typed as words, not made of random bytes; \(KeyStrength.remedy)"))
        }
        return .success(Secret(bytes))
    }

    /// Decodes hexadecimal digits in one letter case, at least 32 bytes; returns nil for other text. 64 characters of
    /// random base64 are practically never all hexadecimal digits.
    private static func bytes(ofHex text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count >= 64, digits.count.isMultiple(of: 2), text == text.lowercased() || text == text.uppercased()
        else { return nil }
        let values = digits.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
        guard values.count == digits.count else { return nil }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    private static func time(_ name: String, _ reader: ConfigurationReader) -> WallTime? {
        guard let text = reader.string(name) else { return nil }
        let time = WallTime(rfc3339: text)
        if time == nil { reader.report(name, "is not an RFC 3339 time such as 2027-01-31T00:00:00Z") }
        return time
    }

    private static func list<Element>(
        _ name: String, _ reader: ConfigurationReader, _ fault: String, ifEmpty: String? = nil,
        _ make: (String) -> Element?
    ) -> [Element]? {
        guard let values = reader.sequence(name) else { return nil }
        if values.isEmpty, let ifEmpty { reader.report(name, ifEmpty) }
        return values.compactMap { node, path in
            guard let text = reader.string(of: node, under: path) else { return nil }
            let element = make(text)
            if element == nil { reader.report(at: node.location, under: path, fault) }
            return element
        }
    }
}
