internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import Hummingbird

/// `/me`: what every user may see and end: their own devices and sessions, and who notified them.
struct OwnPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    let changes: ChangeForms
    /// Whether the configuration offers the page.
    let isOffered: @Sendable () -> Bool

    /// Shows the user's own devices, sessions and received notifications.
    func page(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard isOffered() else { throw ConsoleProblem.notFound }
        let user = try context.user()
        let found = try await own(context)
        let devices = (found["registrations"]?.items ?? []).map(UserPages.device)
        let sessions = (found["sessions"]?.items ?? []).map(UserPages.session)
        let received = (found["received"]?.items ?? []).map { item -> PageModel in
            [
                "from": item["from"]?.string ?? "", "time": PageValues.time(item["at"]?.string),
                "platform": item["platform"]?.string ?? "",
            ]
        }
        var model: PageModel = [
            "devices": devices, "hasDevices": !devices.isEmpty, "sessions": sessions,
            "hasSessions": !sessions.isEmpty, "received": received, "hasReceived": !received.isEmpty,
        ]
        if !request.isMadeByPage, let notice = changes.logins.sessions.takeNotice(of: user.session.id) {
            model["done"] = notice
        }
        return renderer.page("me", title: "Your devices", for: user, model)
    }

    /// Ends one of the user's own sessions or devices, or all of them.
    func change(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard isOffered() else { throw ConsoleProblem.notFound }
        let form = try await changes.fields(of: request, context, needing: .user)
        let name = try context.user().session.user.user.text
        guard let change = UserChange(rawValue: form["change"] ?? ""), change.isForOwners else {
            throw ChangeForms.unknownChange
        }
        let target = form["target"] ?? ""
        // Users may end only what is their own, whatever their form says.
        try change.requireOwned(target, in: try await own(context))
        let question = ChangeForms.Question(
            text: change.question(user: name, target), action: "/me/changes", back: "/me")
        if let page = try await changes.confirmation(of: form, question, context) { return page }
        try await queries.perform(change.operation, change.arguments(user: name, target), by: context.requester())
        // The end of everything ends this session too.
        if change != .revokeUser { changes.logins.sessions.setNotice(change.done, in: try context.user().session.id) }
        return .seeOther(change == .revokeUser ? "/login" : "/me")
    }

    private func own(_ context: ConsoleContext) async throws -> JSONValue {
        let user = try context.user().session.user.user
        guard let found = try await queries.perform("users show", [("user", user.text)], by: context.requester()) else {
            throw ConsoleProblem.notFound
        }
        return found
    }
}
