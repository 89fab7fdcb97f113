internal import GatewayCore
public import GatewaySupport

/// A request of a command: the name of an operation and its arguments.
public struct ControlRequest: Sendable, Hashable {
    /// The words of the command, such as `bans lift`.
    public var operation: String
    /// The names and values of the arguments. The operation validates them.
    public var arguments: [JSONValue.Member]

    /// Creates a request.
    public init(_ operation: String, _ arguments: [JSONValue.Member] = []) {
        self.operation = operation
        self.arguments = arguments
    }

    /// Parses a line without its line feed.
    init(line: [UInt8]) throws(ControlError) {
        let value: JSONValue
        do {
            value = try JSONParser().parse(line.span)
        } catch {
            throw .malformed("The request is not JSON, or too large.")
        }
        guard case .object(let members) = value else { throw .malformed("The request is not an object.") }
        // The version is verified first, because other members may have another meaning in another version.
        guard value["control"]?.integer == ControlProtocol.version else {
            throw .malformed("This gateway supports version \(ControlProtocol.version) of the control protocol only.")
        }
        guard let operation = value["operation"]?.string else { throw .malformed("The request contains no operation.") }
        var arguments: [JSONValue.Member] = []
        for member in members {
            switch (member.name, member.value) {
            case ("control", _), ("operation", _): break
            case ("arguments", .object(let given)): arguments = given
            default: throw .malformed("The request has an unknown member.")
            }
        }
        self.init(operation, arguments)
    }

    /// The line with its line feed.
    var line: [UInt8] {
        var members = [
            JSONValue.Member("control", .number(String(ControlProtocol.version))),
            JSONValue.Member("operation", .string(operation)),
        ]
        if !arguments.isEmpty { members.append(.init("arguments", .object(arguments))) }
        return JSONWriter.bytes(of: .object(members)) + [UInt8(ascii: "\n")]
    }
}
