internal import GatewayCore
internal import Hummingbird

/// Determines the user of a request by the cookie, and redirects a request without a session to the login.
struct ConsoleAuthentication: RouterMiddleware {
    let logins: ConsoleLogins
    /// The role that the pages need.
    let role: ConsoleRole

    func handle(
        _ request: Request, context: ConsoleContext,
        next: @concurrent (Request, ConsoleContext) async throws -> Response
    ) async throws -> Response {
        guard let login = await logins.current(request) else {
            guard request.method == .get else {
                throw ConsoleProblem(.unauthorized, "Log in", "Your session has ended. Nothing was changed.")
            }
            // A script must not receive the login page in place of data.
            guard !request.isMadeByPage else { throw ConsoleProblem.sessionEnded }
            return .seeOther("/login?next=\(ConsoleLinks.encode(request.uri.string))")
        }
        guard login.role >= role else {
            if request.method == .get, request.uri.path == "/" { return .seeOther("/me") }
            throw ConsoleProblem.onlyOwn
        }
        var context = context
        context.login = login
        return try await next(request, context)
    }
}
