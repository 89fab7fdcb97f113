import GatewayCore
import GatewaySupport

/// The text of an explanation: a line for each deciding fact, a table of the limits, and the requests to the backend.
struct ExplanationText {
    let text: String

    init(_ item: JSONValue) {
        var parts: [String] = []
        var lines = [("user", item["user"]?.string ?? "-")]
        let groups = Self.items(item["groups"]).compactMap(\.string)
        if !groups.isEmpty { lines.append(("groups", groups.joined(separator: ", "))) }
        if let account = Self.account(item) { lines.append(("account", account)) }
        if let token = item["token"] {
            lines.append(("authenticator", token["authenticator"]?.string ?? "none"))
            if case .object(let claims)? = token["claims"] {
                lines += claims.map { ("claim \($0.name)".printable, Self.word($0.value)) }
            }
        }
        lines.append(("action", item["action"]?.string ?? "-"))
        if case .object(let parameters)? = item["call"] {
            lines += parameters.map { ($0.name, Self.word($0.value)) }
        }
        for name in ["registration", "rule", "fence"] {
            if let value = item[name]?.string { lines.append((name, value)) }
        }
        if item["secure"] == .bool(true) { lines.append(("secure", "yes: the push contains an id, no text")) }
        lines.append(("end", Self.endText(item)))
        let width = lines.map(\.0.count).max() ?? 0
        parts.append(
            lines.map { name, value in
                name + String(repeating: " ", count: width - name.count + 2) + value.printable
            }.joined(separator: "\n"))
        let limits = Self.items(item["limits"])
        if !limits.isEmpty {
            var table = ResultTable([
                .init("limit", "LIMIT"), .init("user", "USER"), .init("group", "GROUP"),
                .init("recipient", "RECIPIENT"), .init("pns", "PNS"), .init("address", "ADDRESS"),
                .init("cost", "COST"), .init("left", "LEFT"), .init("burst", "BURST"), .init("seconds", "WAIT"),
                .init("shadow", "SHADOW"),
            ])
            for limit in limits { table.add(limit) }
            parts.append(table.text)
        }
        for skipped in Self.items(item["skipped"]) {
            let (user, limit) = (skipped["user"]?.string ?? "-", skipped["limit"]?.string ?? "-")
            parts.append("\(user) is skipped: limit \(limit) is spent.".printable)
        }
        parts += Self.items(item["requests"]).map(Self.request)
        text = parts.joined(separator: "\n\n")
    }

    private static func items(_ value: JSONValue?) -> [JSONValue] {
        if case .array(let items)? = value { items } else { [] }
    }

    /// The sentence about the account of a user: none, or undetermined. Returns nil if an authenticator has the account.
    private static func account(_ item: JSONValue) -> String? {
        let unknown = items(item["unknown_to"]).compactMap(\.string)
        let undecided = items(item["undecided"]).map { item in
            let (name, reason) = (item["authenticator"]?.string ?? "-", item["reason"]?.string ?? "-")
            return reason == "logins-only"
                ? "\(name) reports accounts only at a login" : "\(name) cannot report it now (\(reason))"
        }
        if unknown.isEmpty, undecided.isEmpty { return nil }
        let absent = "unknown to \(unknown.joined(separator: ", "))"
        if undecided.isEmpty { return "none: \(absent); a login would be rejected" }
        return "undetermined: " + ((unknown.isEmpty ? [] : [absent]) + undecided).joined(separator: "; ")
    }

    private static func endText(_ item: JSONValue) -> String {
        switch item["end"]?.string {
        case "refused":
            let (code, status) = (item["code"]?.string ?? "-", item["status"]?.integer ?? 0)
            return "refused: \(status) \(code): \(item["detail"]?.string ?? "")"
        case "answered-here": return "answered by the gateway itself"
        case "forwarded": return items(item["requests"]).isEmpty ? "nobody is left to send to" : "forwarded"
        default: return "-"
        }
    }

    private static func request(_ item: JSONValue) -> String {
        let title =
            switch item["when"]?.string {
            case "if-gone": "Then, if the backend responds that it is gone:"
            case "if-id-is-anothers": "Then, if that id belongs to another device:"
            default: "The backend receives:"
            }
        let lines = (item["request"]?.string ?? "").split(separator: "\r\n", omittingEmptySubsequences: false)
        return ([title] + lines.map { "  \(String($0).printable)" }).joined(separator: "\n").trimmingBlankEnd
    }

    private static func word(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        case .number(let text): text
        case .array, .object, .bool, .null: String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
        }
    }
}

extension String {
    fileprivate var trimmingBlankEnd: String {
        String(String(reversed().drop { $0 == " " || $0 == "\n" }).reversed())
    }
}
