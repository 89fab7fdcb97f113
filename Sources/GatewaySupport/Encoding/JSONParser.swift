/// A strict parser of one JSON value (RFC 8259): UTF-8 only, no duplicate names (compared without case), limited depth
/// and member count. It reads untrusted bytes, so it never traps and its recursion is bounded.
public struct JSONParser: Sendable {
    /// The reason why bytes are not acceptable JSON.
    public enum Fault: Error, Sendable, Hashable {
        /// The bytes are not JSON at this offset.
        case malformed(at: Int)
        /// An escape for half of a surrogate pair, which the grammar of JSON allows although it encodes no character.
        case loneSurrogate(at: Int)
        /// Nested too deeply, or too many members and elements.
        case tooLarge
        /// A name occurs twice in one object, compared without case.
        case duplicateName(String)
    }

    /// The maximum nesting depth of arrays and objects.
    public var depthLimit: Int
    /// The maximum total number of members and elements.
    public var memberLimit: Int

    /// Creates a parser. The default limits are those for requests.
    public init(depthLimit: Int = 8, memberLimit: Int = 64) {
        self.depthLimit = depthLimit
        self.memberLimit = memberLimit
    }

    /// Parses the bytes as one value, optionally surrounded by white space.
    public func parse(_ bytes: borrowing Span<UInt8>) throws(Fault) -> JSONValue {
        var cursor = Cursor(membersLeft: memberLimit)
        Self.skipWhiteSpace(bytes, &cursor)
        let value = try value(bytes, &cursor, depth: 0)
        Self.skipWhiteSpace(bytes, &cursor)
        guard cursor.index == bytes.count else { throw .malformed(at: cursor.index) }
        return value
    }

    struct Cursor {
        var index = 0
        var membersLeft: Int
    }

    private func value(_ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor, depth: Int) throws(Fault) -> JSONValue {
        guard cursor.index < bytes.count else { throw .malformed(at: cursor.index) }
        switch bytes[cursor.index] {
        case UInt8(ascii: "{"):
            guard depth < depthLimit else { throw .tooLarge }
            return .object(try members(bytes, &cursor, depth: depth + 1))
        case UInt8(ascii: "["):
            guard depth < depthLimit else { throw .tooLarge }
            return .array(try elements(bytes, &cursor, depth: depth + 1))
        case UInt8(ascii: "\""):
            return .string(try Self.string(bytes, &cursor))
        case UInt8(ascii: "t"):
            try Self.literal("true", bytes, &cursor)
            return .bool(true)
        case UInt8(ascii: "f"):
            try Self.literal("false", bytes, &cursor)
            return .bool(false)
        case UInt8(ascii: "n"):
            try Self.literal("null", bytes, &cursor)
            return .null
        default:
            return .number(try Self.number(bytes, &cursor))
        }
    }

    private func elements(
        _ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor, depth: Int
    ) throws(Fault) -> [JSONValue] {
        cursor.index += 1
        var values: [JSONValue] = []
        Self.skipWhiteSpace(bytes, &cursor)
        if Self.consume(UInt8(ascii: "]"), bytes, &cursor) { return values }
        while true {
            try Self.countMember(&cursor)
            Self.skipWhiteSpace(bytes, &cursor)
            values.append(try value(bytes, &cursor, depth: depth))
            Self.skipWhiteSpace(bytes, &cursor)
            if Self.consume(UInt8(ascii: "]"), bytes, &cursor) { return values }
            guard Self.consume(UInt8(ascii: ","), bytes, &cursor) else { throw .malformed(at: cursor.index) }
        }
    }

    private func members(
        _ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor, depth: Int
    ) throws(Fault) -> [JSONValue.Member] {
        cursor.index += 1
        var members: [JSONValue.Member] = []
        var names = MemberNames()
        Self.skipWhiteSpace(bytes, &cursor)
        if Self.consume(UInt8(ascii: "}"), bytes, &cursor) { return members }
        while true {
            try Self.countMember(&cursor)
            Self.skipWhiteSpace(bytes, &cursor)
            guard cursor.index < bytes.count, bytes[cursor.index] == UInt8(ascii: "\"") else {
                throw .malformed(at: cursor.index)
            }
            let name = try Self.string(bytes, &cursor)
            guard names.insert(name) else { throw .duplicateName(name) }
            Self.skipWhiteSpace(bytes, &cursor)
            guard Self.consume(UInt8(ascii: ":"), bytes, &cursor) else { throw .malformed(at: cursor.index) }
            Self.skipWhiteSpace(bytes, &cursor)
            members.append(.init(name, try value(bytes, &cursor, depth: depth)))
            Self.skipWhiteSpace(bytes, &cursor)
            if Self.consume(UInt8(ascii: "}"), bytes, &cursor) { return members }
            guard Self.consume(UInt8(ascii: ","), bytes, &cursor) else { throw .malformed(at: cursor.index) }
        }
    }
}
