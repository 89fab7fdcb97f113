internal import GatewayCore
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import Synchronization

/// Responds to the requests of the operator API.
final class OperatorAPI: Sendable {
    private let responder: RouterResponder<OperatorRequestContext>
    private let events: JournalEvents
    private let logger: Logger

    init(operations: ControlOperations, events: JournalEvents, logger: Logger) {
        let router = Router(context: OperatorRequestContext.self)
        router.add(middleware: OperatorProblems(logger: logger))
        for route in OperatorRoute.all {
            router.on(RouterPath(route.path), method: route.method) { request, context in
                try await route.response(to: request, in: context, from: operations)
            }
        }
        router.get(RouterPath(OperatorRoute.eventsPath)) { request, context in
            try await events.response(to: request, in: context)
        }
        responder = router.buildResponder()
        self.events = events
        self.logger = logger
    }

    /// Ends the responses that would not end by themselves.
    func stop() { events.stop() }

    /// Responds to a complete request of an operator. Returns when the response is written and the operation has ended.
    @concurrent func respond(
        to request: Request, by requester: Operator, on channel: any Channel, _ writer: consuming ResponseWriter
    ) async throws {
        let context = OperatorRequestContext(
            source: .init(channel: channel, requester: requester, logger: logger))
        var response = try await responder.respond(to: request, context: context)
        response.headers[.cacheControl] = "no-store"
        do {
            try await writer.write(response: response.head, body: response.body)
        } catch {
            // The peer has disconnected.
            await context.operation.ended()
            throw error
        }
        await context.operation.ended()
    }
}

/// The context of a request: its operator and its connection.
struct OperatorRequestContext: RequestContext {
    /// The values from which a context is created.
    struct Source: RequestContextSource {
        let channel: any Channel
        let requester: Operator
        let logger: Logger
    }

    /// The operation of a request that goes on while its response is written.
    final class RunningOperation: Sendable {
        private let task = Mutex<Task<Void, Never>?>(nil)

        func set(_ task: Task<Void, Never>) { self.task.withLock { $0 = task } }

        /// Waits until the operation has ended.
        func ended() async { await task.withLock(\.self)?.value }
    }

    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    let requester: Operator
    let operation = RunningOperation()

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        requester = source.requester
    }
}

/// Converts errors to problem documents.
private struct OperatorProblems: RouterMiddleware {
    let logger: Logger

    func handle(
        _ request: Request, context: OperatorRequestContext,
        next: @concurrent (Request, OperatorRequestContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let problem as OperatorProblem {
            return Response(problem)
        } catch let error as ControlError {
            return Response(OperatorProblem(error))
        } catch let error as HTTPError where error.status == .notFound {
            return missing(request)
        } catch {
            logger.error("Operator request failed", metadata: ["detail": "\(error)"])
            return Response(OperatorProblem(.internalError, "The request failed for a reason that the log states."))
        }
    }

    /// Returns the response to a request without a route.
    private func missing(_ request: Request) -> Response {
        let methods = OperatorRoute.methods(at: request.uri.path)
        if methods.isEmpty {
            return Response(OperatorProblem(.noRoute, "docs/operator-api.yaml lists the resources."))
        }
        let allowed = methods.joined(separator: ", ")
        var response = Response(OperatorProblem(.methodNotAllowed, "The resource has the methods: \(allowed)."))
        response.headers[.allow] = allowed
        return response
    }
}
