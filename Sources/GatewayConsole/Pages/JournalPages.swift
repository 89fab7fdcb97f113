internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import Hummingbird

/// The page of the journal: its segments, and the verification with its progress.
struct JournalPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    let logins: ConsoleLogins
    let verification: RunningVerification

    /// Shows the journal.
    func journal(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let query = try request.query()
        let segments = try await queries.list(
            "journal segments", limit: 50, after: query["after"], by: context.requester())
        var model: PageModel = [
            "segments": segments.items.map(Self.segment), "isEmpty": segments.items.isEmpty,
        ]
        if let next = segments.next { model["older"] = ConsoleLinks.path("/journal", [("after", next)]) }
        model.merge(Self.verification(verification.state)) { _, new in new }
        return renderer.page("journal", title: "Journal", for: user, model)
    }

    /// Starts a verification, unless one is running.
    func verify(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let session = try context.user().session
        try logins.requireOwnForm(request, try await request.form(), session)
        verification.start(by: try context.requester())
        return .seeOther("/journal#verification")
    }

    private static func segment(_ item: JSONValue) -> PageModel {
        guard case .object(let members) = item else { return [:] }
        var row = PageValues.model(members)
        for name in ["first_at", "last_at"] { row[name] = PageValues.time(item[name]?.string) }
        row["size"] = PageValues.size(item["bytes"]?.integer ?? 0)
        let states = [
            item["closed"] == .bool(true) ? "closed" : "in use", item["indexed"] == .bool(false) ? "not indexed" : nil,
            item["checkpoint"] == .bool(true) ? "signed" : nil,
        ]
        row["state"] = states.compactMap(\.self).joined(separator: ", ")
        return row
    }

    private static func text(_ member: JSONValue.Member) -> String {
        switch member.value {
        case .string(let text): member.name.hasSuffix("_at") ? PageValues.time(text) : text
        case .bool(let flag): flag ? "yes" : "no"
        case .array(let values) where values.isEmpty: "none"
        default: String(decoding: JSONWriter.bytes(of: member.value), as: UTF8.self)
        }
    }

    /// Returns the row about the journal of another gateway.
    private static func row(_ gateway: JSONValue) -> PageModel {
        func number(_ name: String) -> String { gateway[name].map { text(.init(name, $0)) } ?? "" }
        let facts =
            "lines \(number("first")) to \(number("last")) in the database; \(number("recorded_heads_match")) recorded heads "
            + "match, \(number("recorded_heads_removed")) are of expired lines"
        return ["name": "gateway \(gateway["host"]?.string ?? "")", "value": gateway["what"]?.string ?? facts]
    }

    static func verification(_ state: RunningVerification.State) -> PageModel {
        switch state {
        case .none: return [:]
        case .running(let done, let total):
            let percent = total == 0 ? 0 : Int(Double(done) / Double(total) * 100)
            return [
                "isRunning": true, "percent": "\(percent)",
                "progress": "\(PageValues.size(Int64(clamping: done))) of \(PageValues.size(Int64(clamping: total)))",
            ]
        case .failed(let reason): return ["failure": reason]
        case .complete(let report, let time):
            guard case .object(let members) = report else { return [:] }
            let gateways = report["gateways"]?.items ?? []
            let isGood = report["good"] == .bool(true) && !gateways.contains { $0["what"] != nil }
            return [
                "report": members.filter { $0.value != .null && $0.name != "gateways" }.map { member -> PageModel in
                    ["name": String(member.name.map { $0 == "_" ? " " : $0 }), "value": text(member)]
                } + gateways.map(row),
                "hasReport": true, "isGood": isGood, "isBad": !isGood, "verified": PageValues.time(time.description),
            ]
        }
    }
}
