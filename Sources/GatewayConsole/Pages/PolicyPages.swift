internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import Hummingbird

/// The page of the policy: the rules, what shadow rules would have refused, and a form that explains a call.
struct PolicyPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    let logins: ConsoleLogins

    /// Shows the rules.
    func policy(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        try await page([:], context)
    }

    /// Explains a call: what the gateway would do, without doing it.
    func explain(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let session = try context.user().session
        let form = try await request.form()
        try logins.requireOwnForm(request, form, session)
        let call = form["call"] ?? ""
        var model: PageModel = ["explainedUser": form["user"] ?? "", "call": call, "body": form["body"] ?? ""]
        do throws(ConsoleProblem) {
            let explained = try await queries.perform(
                "explain", [("user", form["user"]), ("call", call), ("body", form["body"])], by: context.requester())
            if let explained {
                model["explanation"] = Self.rows(explained)
                model["hasExplanation"] = true
            }
        } catch {
            model["problem"] = error.detail
        }
        // Browsers can request the page again only at its own path.
        model["page"] = "/policy"
        return try await page(model, context)
    }

    private func page(_ values: PageModel, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let requester = try context.requester()
        guard let policy = try await queries.perform("policy show", by: requester) else {
            throw ConsoleProblem.notFound
        }
        let isShadow = policy["enforced"] == .bool(false)
        // Without an index for these records, a search that finds nothing takes a second.
        let shadow =
            isShadow
            ? try await queries.list("sends list", [("result", "would-refuse")], limit: 20, by: requester).items : []
        var model = values
        let rules = (policy["send"]?.items ?? []).map { rule -> PageModel in
            guard case .object(let members) = rule else { return [:] }
            var row = PageValues.model(members)
            row["matched"] = PageValues.number(rule["matched"]?.integer ?? 0)
            return row
        }
        let tags = (policy["tags"]?.items ?? []).map { rule -> PageModel in
            let allowed: [String] = (rule["allow"]?.items ?? []).compactMap(\.string)
            return ["user": rule["user"]?.string ?? "", "allow": allowed.joined(separator: ", ")]
        }
        model["rules"] = rules
        model["hasRules"] = !rules.isEmpty
        model["tags"] = tags
        model["hasTags"] = !tags.isEmpty
        model["isShadow"] = isShadow
        model["shadow"] = shadow.map(CallRows.send)
        model["hasShadow"] = !shadow.isEmpty
        if model["call"] == nil { model["call"] = "POST /api/notifications?pns=apns&to_tag=" }
        return renderer.page("policy", title: "Policy", for: user, model)
    }

    /// Returns the members of an explanation as rows of names and values. Members of inner objects have the names of
    /// both.
    private static func rows(_ value: JSONValue, under prefix: String = "") -> [PageModel] {
        switch value {
        case .object(let members):
            return members.flatMap { member in
                rows(member.value, under: prefix.isEmpty ? member.name : "\(prefix) › \(member.name)")
            }
        case .array(let values) where values.contains(where: { $0.string == nil }):
            return values.enumerated().flatMap { rows($1, under: "\(prefix) \($0 + 1)") }
        case .array(let values):
            return [["name": prefix, "value": values.compactMap(\.string).joined(separator: ", ")]]
        case .null: return []
        // The requests to the backend have several lines.
        case .string(let text) where text.utf8.contains(UInt8(ascii: "\n")): return [["name": prefix, "text": text]]
        case .string(let text), .number(let text): return [["name": prefix, "value": text]]
        case .bool(let flag): return [["name": prefix, "value": flag ? "yes" : "no"]]
        }
    }
}
