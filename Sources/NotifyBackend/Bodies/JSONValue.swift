/// A JSON value as a backend's deserialiser sees it: numbers by their text, members in order with their duplicates.
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

    /// The last member of that name, case ignored: of duplicates the last wins in both of ASP.NET's deserialisers.
    subscript(member: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.lowercased() == member.lowercased() }?.value
    }
}

/// Whose JSON is read.
enum JSONDialect {
    /// Json.NET as Web API 2 sets it up: single quotes, bare member names, comments, trailing commas, and nothing is
    /// looked at after the first value.
    case lenient
    /// System.Text.Json as ASP.NET Core sets it up: RFC 8259.
    case strict
}

/// The body is not JSON in the dialect that is read.
struct JSONFault: Error {}
