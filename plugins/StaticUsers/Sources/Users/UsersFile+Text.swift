internal import GatewayCore
internal import GatewaySupport

extension UsersFile {
    /// The file's new content.
    var text: String {
        switch (isHtpasswd, users.isEmpty) {
        case (true, true): UsersDocument.noUsersLine + "\n"
        case (true, false): users.map { "\($0.name):\($0.hash.text)\n" }.joined()
        case (false, true): "users: {}\n"
        case (false, false): "users:\n" + users.map { "  \(Self.line(for: $0))\n" }.joined()
        }
    }

    private static func line(for user: UserRecord) -> String {
        var settings = ["hash: \(quoted(user.hash.text))"]
        if !user.groups.isEmpty {
            settings.append("groups: [\(user.groups.map { quoted($0.text) }.joined(separator: ", "))]")
        }
        if user.isDisabled { settings.append("disabled: true") }
        if let expires = user.expires { settings.append("expires: \(quoted(expires.description))") }
        return "\(quoted(user.name)): { \(settings.joined(separator: ", ")) }"
    }

    /// Quotes a text as a JSON string, which is a valid double-quoted YAML 1.2 scalar and is never read as a number
    /// or a Boolean.
    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.write(string: text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
