internal import GatewayCore
internal import Hummingbird

/// The forms that request a change: the checks before it, and the page that asks for the password again.
struct ChangeForms: Sendable {
    let logins: ConsoleLogins
    let renderer: PageRenderer

    /// The question that a user answers with the password.
    struct Question: Sendable {
        let text: String
        /// The path of the form.
        let action: String
        /// The path of the page to go back to.
        let back: String
    }

    static let unknownChange = ConsoleProblem(.badRequest, "Invalid request", "There is no such change.")

    /// Returns the fields of a form.
    ///
    /// - Throws: `ConsoleProblem` if the form was not made for this session, or the user has no such role.
    func fields(
        of request: Request, _ context: ConsoleContext, needing role: ConsoleRole
    ) async throws -> [String: String] {
        let user = try context.user()
        let form = try await request.form()
        try logins.requireOwnForm(request, form, user.session)
        guard user.role >= role else { throw ConsoleProblem.needsOperator }
        return form
    }

    /// Returns the page that asks for the password, or that leads to the identity provider; nil if the user has proved
    /// recently who they are, or has entered the password.
    func confirmation(
        of form: [String: String], _ question: Question, _ context: ConsoleContext
    ) async throws -> Response? {
        let session = try context.user().session
        if session.provider != nil {
            return logins.sessions.isProved(session)
                ? nil : ProviderLogins.proofPage(renderer, back: question.back, context)
        }
        if let password = form["password"] {
            guard let problem = await logins.prove(session, password: password, context.peer) else { return nil }
            return page(form, question, context, problem)
        }
        return logins.sessions.isProved(session) ? nil : page(form, question, context, nil)
    }

    private func page(
        _ form: [String: String], _ question: Question, _ context: ConsoleContext, _ problem: String?
    ) -> Response {
        var model: PageModel = [
            "action": question.action, "change": form["change"] ?? "", "target": form["target"] ?? "",
            "question": question.text, "back": question.back, "page": question.back,
        ]
        if let problem { model["problem"] = problem }
        return renderer.page(
            "confirm", title: "Confirm", for: context.login, model, status: problem == nil ? .ok : .forbidden)
    }
}
