internal import GatewayCore
internal import GatewaySupport

/// A request that a check sends: one as the gateway sends it, with members that the check changes.
struct ConformanceRequest {
    let id: String
    let json: String

    private init(_ id: String, _ members: [(String, String)], _ changes: [String: String]) {
        self.id = id
        let extra = changes.filter { change in !members.contains { $0.0 == change.key } }
        let all = members.map { ($0.0, changes[$0.0] ?? $0.1) } + extra.sorted { $0.key < $1.key }
        json = "{" + all.filter { !$0.1.isEmpty }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    /// Creates a request with a random credential.
    ///
    /// - Parameters:
    ///   - kind: a kind that the process accepts, or another one for checks of unknown kinds.
    ///   - changes: JSON by member name, which replaces or adds a member. An empty text removes the member.
    init(_ kind: String, _ changes: [String: String] = [:]) {
        let id = RequestID.random()
        var members = [("type", "\"request\""), ("id", "\"\(id)\""), ("kind", Self.quoted(kind))]
        if kind == CredentialKind.password.rawValue {
            members += [("user", Self.quoted(Self.unknownUser())), ("password", Self.quoted(RequestID.random()))]
        } else {
            members += [("token", "\"conformance.\(RequestID.random())\"")]
        }
        members += [("peer", "\"127.0.0.1\""), ("timeout-ms", "5000")]
        self.init(id, members, changes)
    }

    /// Creates a query of the status of an account; of one that does not exist if none is named.
    init(statusOf user: String? = nil, _ changes: [String: String] = [:]) {
        let id = RequestID.random()
        let members = [
            ("type", "\"status\""), ("id", "\"\(id)\""), ("user", Self.quoted(user ?? Self.unknownUser())),
            ("timeout-ms", "5000"),
        ]
        self.init(id, members, changes)
    }

    private static func unknownUser() -> String { "conformance-\(RequestID.random())" }

    /// Returns the text as a JSON string.
    static func quoted(_ text: String) -> String {
        String(decoding: JSONWriter.bytes(of: .string(text)), as: UTF8.self)
    }
}
