/// A JSON value as a backend's deserializer sees it: numbers as text, members in order with duplicates.
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

    /// The value of the last member with this name, compared without case. Of duplicates, the last one wins in both
    /// deserializers of ASP.NET.
    subscript(member: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.lowercased() == member.lowercased() }?.value
    }
}

/// A dialect of JSON.
enum JSONDialect {
    /// Json.NET as configured by Web API 2: single quotes, unquoted member names, comments, trailing commas. Text after
    /// the first value is ignored.
    case lenient
    /// System.Text.Json as configured by ASP.NET Core: RFC 8259.
    case strict
}

/// The error that a body is not JSON in the given dialect.
struct JSONError: Error {}
