internal import GatewayCore
internal import GatewaySupport

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
        if !key.issues { settings.append("issue: false") }
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
