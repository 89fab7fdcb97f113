internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import Hummingbird

/// The pages of users: the search, one user, and the changes to one user.
struct UserPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    let changes: ChangeForms

    /// Shows the search, or the page of the user that was searched for.
    func search(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let name = try request.query()["name"] ?? ""
        if !name.isEmpty { return .seeOther(ConsoleLinks.user(name)) }
        let bans = try await queries.list("bans list", limit: 100, by: context.requester())
        return renderer.page(
            "users", title: "Users", for: user,
            ["bans": bans.items.map(Self.ban), "hasBans": !bans.items.isEmpty])
    }

    /// Shows a user: devices, sessions, sends in both directions, limits and bans.
    func user(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let name = try Self.name(context)
        let requester = try context.requester()
        guard let found = try await queries.perform("users show", [("user", name)], by: requester) else {
            throw ConsoleProblem.notFound
        }
        let canonical = found["user"]?.string ?? name
        let sent = try await queries.list("sends list", [("from", canonical)], limit: 20, by: requester)
        let received = try await queries.list("sends list", [("to", canonical)], limit: 20, by: requester)
        let devices = (found["registrations"]?.items ?? []).map(Self.device)
        let sessions = (found["sessions"]?.items ?? []).map(Self.session)
        let limits = (found["limits"]?.items ?? []).map(Self.members)
        let bans = (found["bans"]?.items ?? []).map(Self.ban)
        var model: PageModel = [
            "name": canonical, "changes": "\(ConsoleLinks.user(canonical))/changes",
            "devices": devices, "hasDevices": !devices.isEmpty, "sessions": sessions,
            "hasSessions": !sessions.isEmpty, "limits": limits, "hasLimits": !limits.isEmpty, "bans": bans,
            "hasBans": !bans.isEmpty, "sent": sent.items.map(CallRows.send), "hasSent": !sent.items.isEmpty,
            "received": received.items.map(CallRows.send), "hasReceived": !received.items.isEmpty,
            "allSent": ConsoleLinks.path("/calls", [("from", canonical)]),
            "allReceived": ConsoleLinks.path("/calls", [("to", canonical)]),
        ]
        if !request.isMadeByPage, let notice = changes.logins.sessions.takeNotice(of: user.session.id) {
            model["done"] = notice
        }
        return renderer.page("user", title: "User \(canonical)", for: user, model)
    }

    /// Makes a change that a form of a user's page requests. Asks first for the password, or for a login at the identity
    /// provider, if the user has not proved recently who they are.
    func change(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let form = try await changes.fields(of: request, context, needing: .operator)
        let name = try Self.name(context)
        guard let change = UserChange(rawValue: form["change"] ?? "") else { throw ChangeForms.unknownChange }
        let target = form["target"] ?? ""
        let path = ConsoleLinks.user(name)
        let question = ChangeForms.Question(
            text: change.question(user: name, target), action: "\(path)/changes", back: path)
        if let page = try await changes.confirmation(of: form, question, context) { return page }
        guard let user = try await queries.perform("users show", [("user", name)], by: context.requester()) else {
            throw ConsoleProblem.notFound
        }
        try change.requireOwned(target, in: user)
        try await queries.perform(change.operation, change.arguments(user: name, target), by: context.requester())
        changes.logins.sessions.setNotice(change.done, in: try context.user().session.id)
        return .seeOther(path)
    }

    private static func name(_ context: ConsoleContext) throws(ConsoleProblem) -> String {
        guard let name = context.parameters.get("user").flatMap({ QueryText.decode($0.utf8, isPath: true) }),
            !name.isEmpty
        else { throw .notFound }
        return name
    }

    static func device(_ item: JSONValue) -> PageModel {
        var row = members(item)
        row["created"] = PageValues.time(item["created"]?.string)
        row["last_seen"] = PageValues.time(item["last_seen"]?.string)
        return row
    }

    static func session(_ item: JSONValue) -> PageModel {
        var row = members(item)
        for name in ["began", "renewed", "ends"] { row[name] = PageValues.time(item[name]?.string) }
        return row
    }

    private static func ban(_ item: JSONValue) -> PageModel {
        var row = members(item)
        if let link = CallRows.link(item["user"]?.string) { row["link"] = link }
        return row
    }

    private static func members(_ item: JSONValue) -> PageModel {
        guard case .object(let members) = item else { return [:] }
        return PageValues.model(members)
    }
}
