internal import GatewaySupport

extension OperatorRoute {
    /// A request as it arrived, without what only concerns its transport.
    struct Received: Sendable {
        /// The percent-encoded value of the path's parameter.
        var pathValue: String?
        /// The part of the target after the question mark.
        var query: String?
        var contentType: String?
        var body: [UInt8] = []
    }

    /// Returns the request of the operation and the requested page.
    func request(_ received: Received) throws(ControlError) -> (ControlRequest, ControlPage?) {
        var request = ControlRequest(operation)
        if let pathParameter {
            guard let value = received.pathValue.flatMap({ QueryText.decode($0.utf8, isPath: true) }) else {
                throw .malformed("\(pathParameter.name) in the path is not valid.")
            }
            request.arguments.append(.init(pathParameter.argument, .string(value)))
        }
        var page = output == .page ? ControlPage(limit: Self.defaultPageSize) : nil
        for (name, value) in try QueryText.parse(received.query) {
            switch name {
            case "limit" where page != nil: page?.limit = try Self.pageSize(value)
            case "cursor" where page != nil: page?.after = try Self.position(value)
            default:
                guard let parameter = query.first(where: { $0.name == name }) else {
                    throw .malformed("Unknown parameter. The query takes: \(Self.list(query, isPaged: page != nil)).")
                }
                request.arguments.append(.init(parameter.argument, try parameter.value(ofText: value)))
            }
        }
        for member in try members(received) {
            guard let parameter = body.first(where: { $0.name == member.name }) else {
                throw .malformed("Unknown member. The body takes: \(Self.list(body, isPaged: false)).")
            }
            request.arguments.append(.init(parameter.argument, member.value))
        }
        return (request, page)
    }

    /// Returns the target and the body that request the operation.
    func target(of request: ControlRequest, page: ControlPage? = nil) -> (target: String, body: [UInt8]?) {
        var path = path
        var pairs: [String] = []
        for argument in request.arguments where argument.value != .null {
            if let parameter = pathParameter, parameter.argument == argument.name {
                path = path.replacing("{\(parameter.name)}", with: QueryText.encode(parameter.text(of: argument.value)))
            } else if let parameter = query.first(where: { $0.argument == argument.name }) {
                pairs.append("\(parameter.name)=\(QueryText.encode(parameter.text(of: argument.value)))")
            }
        }
        if let page {
            pairs.append("limit=\(page.limit)")
            if let after = page.after { pairs.append("cursor=\(QueryText.encode(after))") }
        }
        let members = request.arguments.filter { argument in body.contains { $0.argument == argument.name } }
        return (
            pairs.isEmpty ? path : "\(path)?\(pairs.joined(separator: "&"))",
            body.isEmpty ? nil : JSONWriter.bytes(of: .object(members))
        )
    }

    /// Returns the opaque text for a position in a list.
    static func cursor(_ position: String) -> String {
        String(decoding: Base64.encode(position.utf8, .url), as: UTF8.self)
    }

    /// The maximum length of a cursor. That of a list of the calls of many nodes names each of them.
    private static let maximumCursorLength = 16_384

    private static func position(_ cursor: String) throws(ControlError) -> String {
        guard cursor.utf8.count <= maximumCursorLength, let bytes = Base64.decode(Array(cursor.utf8).span, .url),
            let position = String(validating: bytes, as: UTF8.self), !position.isEmpty
        else { throw .malformed("cursor is not one that the gateway returned.") }
        return position
    }

    private static func pageSize(_ text: String) throws(ControlError) -> Int {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let size = Int(text),
            (1...maximumPageSize).contains(size)
        else { throw .malformed("limit must be a whole number from 1 to \(maximumPageSize).") }
        return size
    }

    /// Returns the members of the body.
    private func members(_ received: Received) throws(ControlError) -> [JSONValue.Member] {
        if body.isEmpty {
            guard received.body.isEmpty else { throw .malformed("This request takes no body.") }
            return []
        }
        let value: JSONValue
        do {
            value = try JSONParser(memberLimit: 256).parse(received.body.span)
        } catch {
            throw .malformed("The body is not JSON, or has too many members.")
        }
        guard case .object(let members) = value else { throw .malformed("The body is not a JSON object.") }
        return members
    }

    private static func list(_ parameters: [Parameter], isPaged: Bool) -> String {
        let names = parameters.map(\.name) + (isPaged ? ["limit", "cursor"] : [])
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}

extension OperatorRoute.Parameter {
    /// Returns the value of a parameter in a query.
    fileprivate func value(ofText text: String) throws(ControlError) -> JSONValue {
        guard kind == .flag else { return .string(text) }
        switch text {
        case "true": return .bool(true)
        case "false": return .bool(false)
        default: throw .malformed("\(name) must be true or false.")
        }
    }

    /// Returns the text of a value in a query or a path.
    fileprivate func text(of value: JSONValue) -> String {
        value.string ?? String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
    }
}
