internal import GatewayCore
internal import GatewaySupport

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
