internal import GatewayOperations
internal import HTTPTypes
internal import Hummingbird
internal import Logging

/// Adds the fields that protect a page in the browser to every response, converts errors to pages, and rejects requests
/// for another host.
struct ConsoleHeaders: RouterMiddleware {
    let origin: RequestOriginCheck
    let renderer: PageRenderer
    let logger: Logger

    /// The only sources of a page's content: this console. No inline style or script, no frame around it.
    static let contentSecurityPolicy =
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

    /// Returns the fields of every response.
    ///
    /// - Parameter usesHTTPS: Whether browsers reach the console by https.
    static func fields(usesHTTPS: Bool) -> HTTPFields {
        var fields: HTTPFields = [
            HTTPField.Name("Content-Security-Policy")!: contentSecurityPolicy,
            HTTPField.Name("X-Frame-Options")!: "DENY", HTTPField.Name("X-Content-Type-Options")!: "nosniff",
            HTTPField.Name("Referrer-Policy")!: "same-origin",
            HTTPField.Name("Cross-Origin-Opener-Policy")!: "same-origin",
            HTTPField.Name("Cross-Origin-Resource-Policy")!: "same-origin", .cacheControl: "no-store",
        ]
        if usesHTTPS { fields[.strictTransportSecurity] = "max-age=31536000" }
        return fields
    }

    func handle(
        _ request: Request, context: ConsoleContext,
        next: @concurrent (Request, ConsoleContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            guard origin.accepts(host: request.head.authority), request.head.path?.first == "/" else {
                throw ConsoleProblem(
                    .misdirectedRequest, "Unknown host",
                    "The console is not known by this name; \"console.origin\" states the name that browsers use.")
            }
            response = try await next(request, context)
        } catch {
            response = page(of: error, request.method)
        }
        for field in Self.fields(usesHTTPS: origin.usesHTTPS) where response.headers[field.name] == nil {
            response.headers[field.name] = field.value
        }
        return response
    }

    /// The methods that resources of the console have.
    private static let methods: [HTTPRequest.Method] = [.get, .head, .post]

    private func page(of error: any Error, _ method: HTTPRequest.Method) -> Response {
        if (error as? HTTPError)?.status == .notFound, !Self.methods.contains(method) {
            var response = page(of: .notAllowed)
            response.headers[.allow] = Self.methods.map(\.rawValue).joined(separator: ", ")
            return response
        }
        return page(of: Self.problem(error, logger))
    }

    private static func problem(_ error: any Error, _ logger: Logger) -> ConsoleProblem {
        switch error {
        case let error as ConsoleProblem: return error
        case let error as ControlError: return ConsoleProblem(error)
        case let error as HTTPError where error.status == .notFound: return .notFound
        case let error as HTTPError where error.status == .contentTooLarge:
            return ConsoleProblem(.contentTooLarge, "Too large", "The form is too large.")
        default:
            logger.error("Console request failed", metadata: ["detail": "\(error)"])
            return ConsoleProblem(
                .internalServerError, "Failed", "The request failed for a reason that the log states.")
        }
    }

    private func page(of problem: ConsoleProblem) -> Response {
        renderer.page(
            "problem", title: problem.title, ["heading": problem.title, "detail": problem.detail],
            status: problem.status)
    }
}
