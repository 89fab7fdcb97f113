internal import GatewayCore
internal import GatewaySupport

/// A request of a check: the gateway's own, with the check's changes.
struct ConformanceRequest {
    let id: String
    let json: String

    /// Creates a request with a random credential.
    ///
    /// - Parameters:
    ///   - kind: a kind that the process accepts, or another one for checks of unknown kinds.
    ///   - changes: JSON by member name, which replaces or adds a member. An empty text removes the member.
    init(_ kind: String, _ changes: [String: String] = [:]) {
        var generator = SystemRandomNumberGenerator()
        func nonsense() -> String { String(UInt64.random(in: .min ... .max, using: &generator), radix: 16) }
        id = nonsense() + nonsense()
        var members = [("type", "\"request\""), ("id", "\"\(id)\""), ("kind", Self.quoted(kind))]
        if kind == CredentialKind.password.rawValue {
            members += [("user", "\"conformance-\(nonsense())\""), ("password", "\"\(nonsense())\"")]
        } else {
            members += [("token", "\"conformance.\(nonsense())\"")]
        }
        members += [("peer", "\"127.0.0.1\""), ("timeout-ms", "5000")]
        let extra = changes.filter { change in !members.contains { $0.0 == change.key } }
        let all = members.map { ($0.0, changes[$0.0] ?? $0.1) } + extra.sorted { $0.key < $1.key }
        json = "{" + all.filter { !$0.1.isEmpty }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    static func quoted(_ text: String) -> String {
        String(decoding: JSONWriter.bytes(of: .string(text)), as: UTF8.self)
    }
}
