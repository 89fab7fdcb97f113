internal import GatewayCore
internal import GatewaySupport

/// An operation that operators request from the running gateway over the operator API, or from a command that works on
/// the stores of a stopped one.
///
/// A new operation is a type in this folder, a line in `ControlOperations.all` and a route in `OperatorRoute.all`. It
/// sends each result through the context.
package protocol ControlOperation: Sendable {
    /// The words of the command, such as `bans lift`.
    static var name: String { get }
    /// The names of the accepted arguments. A request with another argument is rejected before `run`.
    static var arguments: Set<String> { get }
    /// Carries out the operation, on any executor.
    ///
    /// An operation that changes something calls `context.record` first, then makes the change, then sends the result.
    /// If the peer disconnects in between, the change remains. The operation is never cancelled and must return by
    /// itself.
    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError)
}

extension ControlOperation {
    /// The default: no arguments.
    static var arguments: Set<String> { [] }
}

/// The arguments of a request, with typed accessors.
package struct ControlArguments: Sendable {
    private let members: [JSONValue.Member]

    /// Creates the arguments. Throws if one of them has none of the names.
    init(_ members: [JSONValue.Member], named names: Set<String>) throws(ControlError) {
        for member in members where !names.contains(member.name) {
            let known = names.sorted().joined(separator: ", ")
            throw .malformed("Unknown argument. The operation takes: \(known.isEmpty ? "none" : known).")
        }
        self.members = members
    }

    /// Returns a text; nil if it is absent or null.
    func text(_ name: String) throws(ControlError) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else { throw .malformed("\(name) must be text.") }
        return text
    }

    /// Returns the absolute path of a file.
    func absolutePath(_ name: String) throws(ControlError) -> String {
        guard let path = try text(name), path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw .malformed("\(name) must be an absolute path.")
        }
        return path
    }

    /// Returns a list of texts; empty if it is absent or null.
    func texts(_ name: String) throws(ControlError) -> [String] {
        guard let value = value(name) else { return [] }
        guard case .array(let values) = value else { throw .malformed("\(name) must be a list of texts.") }
        let texts = values.compactMap(\.string)
        guard texts.count == values.count else { throw .malformed("\(name) must be a list of texts.") }
        return texts
    }

    /// Returns a time, written as RFC 3339; nil if it is absent or null.
    func time(_ name: String) throws(ControlError) -> WallTime? {
        guard let text = try text(name) else { return nil }
        guard let time = WallTime(rfc3339: text) else {
            throw .malformed("\(name) must be a time of RFC 3339, such as 2026-11-22T09:00:00Z.")
        }
        return time
    }

    /// Returns a whole number within the range, written in decimal digits; nil if it is absent or null.
    func number(_ name: String, in range: ClosedRange<Int>) throws(ControlError) -> Int? {
        guard let text = try text(name) else { return nil }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int(text),
            range.contains(number)
        else { throw .malformed("\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound).") }
        return number
    }

    /// Returns a Boolean; false if it is absent or null.
    func flag(_ name: String) throws(ControlError) -> Bool {
        guard let value = value(name) else { return false }
        guard case .bool(let flag) = value else { throw .malformed("\(name) must be true or false.") }
        return flag
    }

    /// Returns the user that a name in any spelling means. The result of the operation says which one it is. Returns nil
    /// if it is absent or null.
    func user(_ name: String, by rules: NameRules) throws(ControlError) -> UserName? {
        guard let text = try text(name) else { return nil }
        guard let user = rules.user(PresentedName(text)) else { throw .refused("\(name) is not a valid user name.") }
        return user
    }

    private func value(_ name: String) -> JSONValue? {
        let value = members.first { $0.name == name }?.value
        return value == .null ? nil : value
    }
}

extension UserName? {
    /// The user as a member of a result; none without a user.
    func members(_ name: String) -> [JSONValue.Member] { map { [.init(name, .string($0.text))] } ?? [] }
}
