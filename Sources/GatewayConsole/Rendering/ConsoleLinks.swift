internal import GatewayOperations

/// The paths of the console's pages.
enum ConsoleLinks {
    /// Returns the text with all bytes escaped that a path or a query cannot contain.
    static func encode(_ text: String) -> String { QueryText.encode(text) }

    /// Returns the path of a user's page.
    static func user(_ name: String) -> String { "/users/\(encode(name))" }

    /// Returns the path of a call's page.
    static func call(_ id: String) -> String { "/calls/\(encode(id))" }

    /// Returns the path with a query. Values that are nil or empty are left out.
    static func path(_ path: String, _ query: [(String, String?)]) -> String {
        let pairs = query.compactMap { name, value -> String? in
            guard let value, !value.isEmpty else { return nil }
            return "\(name)=\(encode(value))"
        }
        return pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))"
    }
}
