internal import GatewayCore

/// A request as a check writes it: like the gateway's, but for what the check changes.
struct ConformanceRequest {
    let id: String
    let json: String

    /// A request with a credential that nobody has.
    ///
    /// - Parameters:
    ///   - kind: one that the process takes, unless the check is about others.
    ///   - changes: members with other JSON than usual, or additional ones; empty text leaves the member out.
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
