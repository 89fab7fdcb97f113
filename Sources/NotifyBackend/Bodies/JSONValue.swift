/// A JSON value as a backend's deserialiser represents it: numbers as text, members in order with duplicates.
enum JSONValue: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    struct Member: Equatable {
        let name: String
        let value: JSONValue
    }

    /// Returns the last member with the name, ignoring case. Both ASP.NET deserialisers use the last duplicate.
    subscript(member: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.lowercased() == member.lowercased() }?.value
    }
}

/// The JSON parser that is imitated.
enum JSONDialect {
    /// Json.NET as configured by Web API 2: accepts single quotes, unquoted member names, comments and trailing
    /// commas, and ignores everything after the first value.
    case lenient
    /// System.Text.Json as configured by ASP.NET Core: RFC 8259.
    case strict
}

/// The body is not valid JSON in the dialect.
struct JSONFault: Error {}
