internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import Hummingbird

/// The pages of users: the search, one user, and the changes to one user.
struct UserPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    let logins: ConsoleLogins

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
        let query = try request.query()
        if let done = UserChange(rawValue: query["done"] ?? "")?.done { model["done"] = done }
        if query["proved"] != nil { model["done"] = "You have proved who you are. Make the change again." }
        return renderer.page("user", title: "User \(canonical)", for: user, model)
    }

    /// Makes a change that a form of a user's page requests. Asks first for the password, or for a login at the identity
    /// provider, if the user has not proved recently who they are.
    func change(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let (session, role) = try context.user()
        let form = try await request.form()
        try logins.requireOwnForm(request, form, session)
        guard role >= .operator else { throw ConsoleProblem.needsOperator }
        let name = try Self.name(context)
        guard let change = UserChange(rawValue: form["change"] ?? "") else {
            throw ConsoleProblem(.badRequest, "Invalid request", "There is no such change.")
        }
        let target = form["target"] ?? ""
        if session.provider != nil {
            guard logins.sessions.isProved(session) else {
                return ProviderLogins.proofPage(
                    renderer, back: ConsoleLinks.path(ConsoleLinks.user(name), [("proved", "1")]), context)
            }
        } else if let password = form["password"] {
            if let problem = await logins.prove(session, password: password, context.peer) {
                return confirmation(of: change, target, for: name, context, problem)
            }
        } else if !logins.sessions.isProved(session) {
            return confirmation(of: change, target, for: name, context, nil)
        }
        try await queries.perform(change.operation, change.arguments(user: name, target), by: context.requester())
        return .seeOther(ConsoleLinks.path(ConsoleLinks.user(name), [("done", change.rawValue)]))
    }

    private func confirmation(
        of change: UserChange, _ target: String, for name: String, _ context: ConsoleContext, _ problem: String?
    ) -> Response {
        var model: PageModel = [
            "action": "\(ConsoleLinks.user(name))/changes", "change": change.rawValue, "target": target,
            "question": change.question(user: name, target), "back": ConsoleLinks.user(name),
        ]
        if let problem { model["problem"] = problem }
        return renderer.page(
            "confirm", title: "Confirm", for: context.login, model, status: problem == nil ? .ok : .forbidden)
    }

    private static func name(_ context: ConsoleContext) throws(ConsoleProblem) -> String {
        guard let name = context.parameters.get("user").flatMap({ QueryText.decode($0.utf8, isPath: true) }),
            !name.isEmpty
        else { throw .notFound }
        return name
    }

    private static func device(_ item: JSONValue) -> PageModel {
        var row = members(item)
        row["created"] = PageValues.time(item["created"]?.string)
        row["last_seen"] = PageValues.time(item["last_seen"]?.string)
        return row
    }

    private static func session(_ item: JSONValue) -> PageModel {
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

/// A change to one user.
private enum UserChange: String {
    /// Ends a session of the user.
    case endSession = "end-session"
    /// Deletes a device's registration at the backend.
    case revokeDevice = "revoke-device"
    /// Ends all sessions and deletes all registrations of the user.
    case revokeUser = "revoke-user"
    /// Clears the failed logins of the user.
    case liftBans = "lift-bans"
    /// Resets the limits that count the user.
    case resetLimits = "reset-limits"

    /// The operation that makes the change.
    var operation: String {
        switch self {
        case .endSession, .revokeUser: "tokens revoke"
        case .revokeDevice: "registrations revoke"
        case .liftBans: "bans lift"
        case .resetLimits: "limits reset"
        }
    }

    /// Returns the arguments of the operation.
    func arguments(user: String, _ target: String) -> [(String, String?)] {
        switch self {
        case .endSession: [("session", target)]
        case .revokeDevice: [("registration", target)]
        case .revokeUser, .liftBans, .resetLimits: [("user", user)]
        }
    }

    /// Returns the question before the change.
    func question(user: String, _ target: String) -> String {
        switch self {
        case .endSession: "End the session \(target) of \(user)?"
        case .revokeDevice: "Revoke the device registration \(target) of \(user)?"
        case .revokeUser: "End all sessions of \(user) and delete all device registrations?"
        case .liftBans: "Clear the failed logins of \(user)?"
        case .resetLimits: "Reset the limits of \(user)?"
        }
    }

    /// The sentence after the change.
    var done: String {
        switch self {
        case .endSession: "The session has ended."
        case .revokeDevice: "The device is revoked; the backend's registration is deleted, or will be shortly."
        case .revokeUser: "All sessions have ended, and the devices are revoked."
        case .liftBans: "The failed logins are cleared."
        case .resetLimits: "The limits are reset."
        }
    }
}
