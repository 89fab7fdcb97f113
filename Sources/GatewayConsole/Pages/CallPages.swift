internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// The pages of calls: the list of sends or refusals, one call, and the export of a list.
struct CallPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    private let exports = RunningExports()

    init(queries: ConsoleQueries, renderer: PageRenderer) {
        self.queries = queries
        self.renderer = renderer
    }

    /// The filters of lists, in the order of the form.
    private static let filters = ["from", "to", "user", "platform", "result", "since", "until"]
    /// The number of rows of a page.
    private static let pageSize = 50
    /// The maximum number of records on the page of a call. A send to an audience has two for each member.
    private static let shownRecords = 500
    /// The maximum number of rows of an export.
    private static let exportSize = 10_000

    /// Lists sends, or with `kind=refusals` rejected calls, the newest first.
    func list(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let query = try request.query()
        let kind = Kind(query["kind"])
        let filters = try Self.filters(query)
        let page = try await queries.list(
            kind.operation, filters, limit: Self.pageSize, after: query["after"], by: context.requester())
        var model: PageModel = [
            "rows": page.items.map(kind.row), "isEmpty": page.items.isEmpty,
            "filters": Self.filters.map { name in
                ["name": name, "label": Self.label(name), "value": query[name] ?? "", "hint": Self.hint(name)]
            } as [PageModel],
            "kinds": Kind.allCases.map { each in
                ["name": each.rawValue, "label": each.label, "isChosen": each == kind] as PageModel
            },
            "export": ConsoleLinks.path("/calls/export", filters + [("kind", kind.rawValue)]),
            "isSends": kind == .sends,
        ]
        let given = filters + [("kind", kind.rawValue)]
        if let next = page.next { model["older"] = ConsoleLinks.path("/calls", given + [("after", next)]) }
        if query["after"] != nil { model["newest"] = ConsoleLinks.path("/calls", given) }
        // New rows belong at the top of the first page only.
        if query["after"] == nil, query["until"] ?? "" == "" {
            model["live"] = ConsoleLinks.path("/live", given.filter { !["since", "result"].contains($0.0) })
            model["isLive"] = true
        }
        return renderer.page("calls", title: kind.label, for: user, model)
    }

    /// Shows all records of one call.
    func call(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        guard let id = context.parameters.get("call").flatMap({ QueryText.decode($0.utf8, isPath: true) }) else {
            throw ConsoleProblem.notFound
        }
        let found = try await queries.perform("calls show", [("call", id)], by: context.requester())
        let all = found?["records"]?.items ?? []
        let records = all.prefix(Self.shownRecords).map { record -> PageModel in
            guard case .object(let members) = record else { return [:] }
            return [
                "kind": record["kind"]?.string ?? "", "time": PageValues.time(record["at"]?.string),
                "members": members.filter { !["kind", "prev", "hash"].contains($0.name) }.map { member in
                    var row: PageModel = ["name": member.name, "value": Self.text(member.value)]
                    if ["user", "recipient"].contains(member.name), let name = member.value.string {
                        row["href"] = ConsoleLinks.user(name)
                    }
                    return row
                },
            ]
        }
        var model: PageModel = ["call": id, "records": records, "hasMore": all.count > Self.shownRecords]
        if let node = found?["node"]?.string { model["node"] = node }
        return renderer.page("call", title: "Call \(id)", for: user, model)
    }

    /// Returns the rows of a list as lines of JSON, at most 10,000.
    func export(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let query = try request.query()
        let kind = Kind(query["kind"])
        let filters = try Self.filters(query)
        let requester = try context.requester()
        guard let slot = exports.begin() else {
            throw ConsoleProblem(.serviceUnavailable, "Too many", "Too many exports are running already.")
        }
        // A first page, so that a wrong filter is a problem and not an interrupted file.
        let first = try await queries.list(kind.operation, filters, limit: 1000, by: requester)
        let queries = queries
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/x-ndjson",
                .contentDisposition: "attachment; filename=\"\(kind.rawValue).ndjson\"",
            ],
            body: ResponseBody { [slot] writer in
                defer { withExtendedLifetime(slot) {} }
                var (page, count) = (first, 0)
                while true {
                    var buffer = ByteBuffer()
                    for item in page.items {
                        buffer.writeBytes(JSONWriter.bytes(of: item))
                        buffer.writeStaticString("\n")
                    }
                    count += page.items.count
                    try await writer.write(buffer)
                    guard let next = page.next, count < Self.exportSize else { break }
                    page = try await queries.list(kind.operation, filters, limit: 1000, after: next, by: requester)
                }
                try await writer.finish(nil)
            })
    }

    /// Returns the filters of a query. Times may be written as the form's control for times writes them.
    static func filters(_ query: [String: String]) throws(ConsoleProblem) -> [(String, String?)] {
        filters.map { name in
            guard let value = query[name], !value.isEmpty else { return (name, nil) }
            return (name, ["since", "until"].contains(name) ? time(value) : value)
        }
    }

    /// Returns a time of a form as RFC 3339, in UTC: `2026-11-25T18:04` becomes `2026-11-25T18:04:00Z`.
    static func time(_ text: String) -> String {
        switch text.utf8.count {
        case 10: "\(text)T00:00:00Z"
        case 16: "\(text):00Z"
        case 19: "\(text)Z"
        default: text
        }
    }

    private static func label(_ filter: String) -> String {
        switch filter {
        case "from": "From"
        case "to": "To"
        case "user": "User"
        case "platform": "Platform"
        case "result": "Result"
        case "since": "Since (UTC)"
        default: "Until (UTC)"
        }
    }

    private static func hint(_ filter: String) -> String {
        switch filter {
        case "platform": "apns"
        case "result": "accepted"
        case "since", "until": "2026-11-25T18:00"
        default: "name"
        }
    }

    private static func text(_ value: JSONValue) -> String {
        value.string ?? String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
    }

    /// The lists of calls.
    private enum Kind: String, CaseIterable {
        case sends, refusals

        init(_ text: String?) { self = text.flatMap(Kind.init(rawValue:)) ?? .sends }

        var operation: String { self == .sends ? "sends list" : "refusals list" }
        var label: String { self == .sends ? "Sends" : "Refusals" }

        func row(_ item: JSONValue) -> PageModel {
            switch self {
            case .sends: CallRows.send(item)
            case .refusals: CallRows.refusal(item)
            }
        }
    }
}

/// The number of exports in progress, which is bounded because each reads a part of the journal.
private final class RunningExports: Sendable {
    /// The place of one export, which is free again when nothing refers to it.
    final class Slot: Sendable {
        private let exports: RunningExports

        fileprivate init(_ exports: RunningExports) { self.exports = exports }

        deinit { exports.count.subtract(1, ordering: .relaxed) }
    }

    private static let maximum = 4
    private let count = Atomic(0)

    /// Returns a place for an export; nil if there are too many.
    func begin() -> Slot? {
        let slot = Slot(self)
        return count.add(1, ordering: .relaxed).newValue <= Self.maximum ? slot : nil
    }
}
