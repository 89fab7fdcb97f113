internal import GatewaySupport
internal import Hummingbird
internal import NIOCore

extension OperatorRoute {
    /// Carries out the operation of a request and returns its response.
    ///
    /// - Throws: `ControlError` or `OperatorProblem` if nothing of the operation's result was returned yet.
    func response(
        to request: Request, in context: OperatorRequestContext, from operations: ControlOperations
    ) async throws -> Response {
        let received = Received(
            pathValue: pathParameter.flatMap { context.parameters.get($0.name) }, query: request.uri.query,
            contentType: request.headers[.contentType],
            body: Array(buffer: try await request.body.collect(upTo: Self.maximumBodyLength)))
        if !body.isEmpty, !Self.isJSON(received.contentType) {
            throw OperatorProblem(.unsupportedMediaType, "The body must be application/json.")
        }
        let (request, page) = try self.request(received)
        if output == .lines { return try await lines(of: request, in: context, from: operations) }
        let results = await operations.results(of: request, by: context.requester, page: page)
        if let error = results.error {
            var problem = OperatorProblem(error)
            if case .collection(let name) = output, error.kind == .refused {
                problem.members = [.init(name, .array(results.items))]
            }
            throw problem
        }
        switch output {
        case .page:
            var members: [JSONValue.Member] = [.init("items", .array(results.items))]
            if let next = results.next { members.append(.init("next", .string(Self.cursor(next)))) }
            return Response(json: .object(members))
        case .collection(let name):
            return Response(json: .object([.init(name, .array(results.items))]))
        case .object, .lines:
            guard let item = results.items.first else { return Response(status: .noContent) }
            return Response(json: item)
        }
    }

    /// Starts an operation and returns its results while they arise. The response is a problem if the operation fails
    /// before its first result.
    private func lines(
        of request: ControlRequest, in context: OperatorRequestContext, from operations: ControlOperations
    ) async throws -> Response {
        let pipe = OutputPipe()
        context.channel.closeFuture.whenComplete { _ in pipe.close() }
        let requester = context.requester
        context.operation.set(
            Task {
                let error = await operations.carryOut(request, by: requester) { output throws(ControlError) in
                    try await pipe.write(output)
                }
                pipe.finish(error)
            })
        let first = await pipe.next()
        if case .end(let error?) = first { throw error }
        return Response(
            status: .ok, headers: [.contentType: Self.linesContentType],
            body: ResponseBody { writer in
                var event = first
                while true {
                    try await writer.write(Self.line(event))
                    if case .end = event { break }
                    event = await pipe.next()
                }
                try await writer.finish(nil)
            })
    }

    /// The media type of a response of lines.
    static let linesContentType = "application/x-ndjson"

    /// Returns the line of an event: an object with one member of the event's kind.
    private static func line(_ event: OutputPipe.Event) -> ByteBuffer {
        let members: [JSONValue.Member] =
            switch event {
            case .output(.item(let item)): [.init("item", item)]
            case .output(.totals(let totals)): [.init("totals", totals)]
            case .output(.next(let position)): [.init("next", .string(cursor(position)))]
            case .end(nil): [.init("end", .string("done"))]
            case .end(let error?):
                [.init("end", .string("failed")), .init("problem", OperatorProblem(error).document)]
            }
        return ByteBuffer(bytes: JSONWriter.bytes(of: .object(members)) + [UInt8(ascii: "\n")])
    }

    private static func isJSON(_ contentType: String?) -> Bool {
        let type = contentType?.split(separator: ";", maxSplits: 1).first ?? ""
        return type.trimmingPrefix { $0 == " " }.prefix { $0 != " " }.lowercased() == "application/json"
    }
}
