internal import GatewayOperations
internal import Hummingbird

/// A request of the console that fails, with a sentence for the user.
struct ConsoleProblem: Error, Sendable, Hashable {
    let status: HTTPResponse.Status
    let title: String
    let detail: String

    init(_ status: HTTPResponse.Status, _ title: String, _ detail: String) {
        self.status = status
        self.title = title
        self.detail = detail
    }

    /// Creates the problem of a failed operation.
    init(_ error: ControlError) {
        switch error.kind {
        case .refused: self.init(.unprocessableContent, "Not possible", error.reason)
        case .notFound: self.init(.notFound, "Not found", error.reason)
        case .malformed: self.init(.badRequest, "Invalid request", error.reason)
        case .unavailable: self.init(.serviceUnavailable, "Unavailable", error.reason)
        }
    }

    static let notFound = ConsoleProblem(.notFound, "Not found", "There is no such page.")
    static let notAllowed = ConsoleProblem(.methodNotAllowed, "Not allowed", "Pages have no such method.")
    static let noSuchObject = ConsoleProblem(
        .notFound, "Not found", "The user has no such device or session any more.")
    static let foreignForm = ConsoleProblem(
        .forbidden, "Not accepted", "The form did not come from this console, or it is too old. Load the page again.")
    static let sessionEnded = ConsoleProblem(.unauthorized, "Log in", "Your session has ended.")
    static let onlyOwn = ConsoleProblem(.forbidden, "Not permitted", "You may see only what is your own.")
    static let needsOperator = ConsoleProblem(
        .forbidden, "Not permitted", "Changes need an operator; you may only read.")
}
