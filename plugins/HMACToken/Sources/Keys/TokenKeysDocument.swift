internal import GatewayCore

/// The content of a key file.
struct TokenKeysDocument {
    /// The keys, in the order of the file.
    private(set) var keys: [TokenKey] = []
    private let problems: ConfigurationProblems
    private var linesByID: [String: Int] = [:]

    /// Reads the text of a file; everything wrong with it goes to `problems`.
    init(_ text: String, file: String, problems: ConfigurationProblems) {
        self.problems = problems
        let root: ConfigurationNode
        do { root = try YAMLDocument.parse(text, file: file) } catch {
            problems.add(error)
            return
        }
        let reader = ConfigurationReader(root, directory: "", problems: problems)
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
        // `secret`: base64 (RFC 4648, section 4) of at least as many random bytes as the hash has. Required, secret.
        let secret = reader.required("secret").flatMap { Self.secret($0, for: algorithm, reader) }
        // `not-before`, `not-after`: times of RFC 3339. Default: always a key.
        let notBefore = Self.time("not-before", reader)
        let notAfter = Self.time("not-after", reader)
        if let notBefore, let notAfter, notAfter <= notBefore {
            reader.report("not-after", "must be later than not-before")
        }
        // `subjects`: canonical names, or beginnings of such with a * behind. Default: anybody.
        let subjects: [SubjectPattern]? = Self.list(
            "subjects", reader, "is no user name in canonical form, nor the beginning of one with a * behind",
            ifEmpty: "lets nobody in; name somebody, or leave it out for everybody", SubjectPattern.init)
        // `groups`: the groups that tokens may claim. Default: any; an empty list is none.
        let groups: [GroupName]? = Self.list(
            "groups", reader, "is no group name: 1 to 64 of A-Z a-z 0-9 _ . -", GroupName.init)
        // `issue`: whether tokens are issued with it. Default: true.
        let issues = reader.bool("issue") ?? true
        guard let id, let algorithm, let secret else { return }
        keys.append(
            TokenKey(
                id: id, algorithm: algorithm, notBefore: notBefore, notAfter: notAfter, subjects: subjects,
                groups: groups.map(Set.init), issues: issues, secret: secret))
    }

    private mutating func claim(_ id: String, _ reader: ConfigurationReader) -> String? {
        guard TokenKey.isID(id) else {
            reader.report("id", "is no key id: 1 to 64 of A-Z a-z 0-9 . _ -")
            return nil
        }
        if let line = linesByID[id] {
            reader.report("id", "is the id of the key in line \(line) already")
            return nil
        }
        linesByID[id] = reader.location.line
        return id
    }

    private static func secret(
        _ text: String, for algorithm: TokenAlgorithm?, _ reader: ConfigurationReader
    ) -> Secret? {
        guard let bytes = Base64.decode(Array(text.utf8).span, .standard) else {
            reader.report("secret", "is not base64 (RFC 4648, section 4)")
            return nil
        }
        // Of a key without an algorithm, what no algorithm would take is said all the same.
        if let weakness = KeyStrength.weakness(of: bytes, for: algorithm ?? .hs256) {
            reader.report("secret", weakness)
            return nil
        }
        return Secret(bytes)
    }

    private static func time(_ name: String, _ reader: ConfigurationReader) -> WallTime? {
        guard let text = reader.string(name) else { return nil }
        let time = WallTime(rfc3339: text)
        if time == nil { reader.report(name, "is no time; write one as 2027-01-31T00:00:00Z") }
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
