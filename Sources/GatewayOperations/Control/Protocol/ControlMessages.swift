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

/// One line of a response of the gateway.
enum ControlResponse: Sendable, Hashable {
    /// One result. A response has any number of them.
    case item(JSONValue)
    /// The final line: the operation succeeded.
    case done
    /// The final line: the reason why the operation failed.
    case failed(ControlError)

    /// Parses a line without its line feed. Returns nil for a line that no gateway of this version sends.
    init?(line: [UInt8]) {
        guard let value = try? JSONParser(depthLimit: 32, memberLimit: 65_536).parse(line.span) else { return nil }
        if let item = value["item"] {
            self = .item(item)
            return
        }
        guard let end = value["end"]?.string else { return nil }
        if end == "done" {
            self = .done
        } else if let kind = ControlError.Kind(rawValue: end) {
            self = .failed(ControlError(kind, value["reason"]?.string ?? ""))
        } else {
            return nil
        }
    }

    /// The line with its line feed.
    var line: [UInt8] {
        let members: [JSONValue.Member] =
            switch self {
            case .item(let value): [.init("item", value)]
            case .done: [.init("end", .string("done"))]
            case .failed(let fault):
                [.init("end", .string(fault.kind.rawValue)), .init("reason", .string(fault.reason))]
            }
        return JSONWriter.bytes(of: .object(members)) + [UInt8(ascii: "\n")]
    }
}
