internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// `GET /live`: sends the calls that match the filters of a page as server-sent events while they are recorded.
struct LivePages: Sendable {
    let calls: LiveCalls
    let logins: ConsoleLogins
    let isStopping: StopFlag
    let names: NameRules

    /// The time after which a stream ends, so that a browser that does not read is disconnected. Others connect again.
    private static let lifetime = TimeAmount.minutes(10)
    /// The number of periods without a call after which a comment is sent, so that intermediaries keep the connection.
    private static let periodsPerComment = 40

    /// Returns the response with the stream. It ends with the session, with the connection, or when the gateway stops.
    func stream(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let session = try context.user().session
        let query = try request.query()
        let filter = LiveFilter(query, names)
        // A page of another site must not use up the streams of this user.
        guard ["same-origin", nil].contains(request.headers[.secFetchSite]) else { throw ConsoleProblem.foreignForm }
        guard let first = calls.beginStream(of: session.id) else {
            throw ConsoleProblem(.serviceUnavailable, "Too many", "Too many pages are live already.")
        }
        let channel = context.channel
        channel.closeFuture.whenComplete { [calls] _ in calls.endStream(of: session.id) }
        let end = channel.eventLoop.scheduleTask(in: Self.lifetime) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in end.cancel() }
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: ResponseBody { [calls, logins, isStopping] writer in
                try await writer.write(ByteBuffer(string: "retry: 2000\n\n"))
                var (position, idle) = (first, 0)
                while channel.isActive, !isStopping.isSet, !calls.isFailing, await logins.mayRead(session.id) {
                    try await Task.sleep(for: LiveCalls.period)
                    let (found, next) = calls.calls(after: position)
                    position = next
                    let rows = found.filter(filter.matches).suffix(LiveCalls.maximumCalls).map(LiveRow.cells)
                    idle = rows.isEmpty ? idle + 1 : 0
                    if !rows.isEmpty {
                        var event = ByteBuffer(string: "event: calls\ndata: ")
                        event.writeBytes(JSONWriter.bytes(of: .object([.init("rows", .array(rows))])))
                        event.writeStaticString("\n\n")
                        try await writer.write(event)
                    } else if idle.isMultiple(of: Self.periodsPerComment) {
                        try await writer.write(ByteBuffer(string: ":\n\n"))
                    }
                }
                try await writer.finish(nil)
            })
    }
}

/// Whether the console is stopping.
final class StopFlag: Sendable {
    private let flag = Atomic(false)

    /// Whether `set` was called.
    var isSet: Bool { flag.load(ordering: .acquiring) }

    /// Declares that the console is stopping.
    func set() { flag.store(true, ordering: .releasing) }
}

/// The filters of a page of calls that apply to new calls.
struct LiveFilter: Sendable {
    private let isOfRefusals: Bool
    private let members: [(name: String, value: String)]

    init(_ query: [String: String], _ names: NameRules) {
        // As the list does.
        func canonical(_ name: String) -> String? { query[name].map { names.user(PresentedName($0))?.text ?? $0 } }
        isOfRefusals = query["kind"] == "refusals"
        members = [
            ("user", canonical("from")), ("recipient", canonical("to")), ("user", canonical("user")),
            ("pns", query["platform"].map { Platform(word: $0)?.service.rawValue ?? $0 }), ("result", query["result"]),
        ].compactMap { name, value in value.flatMap { $0.isEmpty ? nil : (name, $0) } }
    }

    func matches(_ call: LiveCalls.Call) -> Bool {
        call.isRefusal == isOfRefusals && members.allSatisfy { call.record[$0.name]?.string == $0.value }
    }
}

/// The cells of a new row, which the page's script turns into text and links.
enum LiveRow {
    static func cells(_ call: LiveCalls.Call) -> JSONValue {
        let record = call.record
        func text(_ name: String) -> String { record[name].flatMap { $0.string ?? $0.numberText } ?? "" }
        let time = cell([part(PageValues.time(record["at"]?.string))])
        let user = cell(
            record["user"]?.string.map { [part($0, href: ConsoleLinks.user($0))] }
                ?? [part(text("attempted"))])
        let recipient = record["recipient"]?.string.map { [part($0, href: ConsoleLinks.user($0))] } ?? []
        let audience = record["audience"]?.string.map { [part("audience:\($0)", class: "tag")] } ?? []
        let result = cell([
            part(text("result"), class: "mark \(call.isRefusal ? "bad" : CallRows.mark(text("result")))")
        ])
        let details = cell(record["call"]?.string.map { [part("details", href: ConsoleLinks.call($0))] } ?? [])
        let node = call.node.map { [cell([part($0)])] } ?? []
        if call.isRefusal {
            return .array(
                [time] + node + [
                    user, cell([part(text("action"))]), cell(audience + recipient), result,
                    cell([part(text("reason"))]), cell([part(text("peer"))]),
                    cell([part(text("count"))], class: "number"),
                    details,
                ])
        }
        return .array(
            [time] + node + [
                user, cell(audience + recipient), cell([part(text("pns"))]), result,
                cell([part(text("ms"))], class: "number"), cell([part(text("rule"))]), details,
            ])
    }

    private static func cell(_ parts: [JSONValue], class name: String? = nil) -> JSONValue {
        .object([.init("parts", .array(parts))] + (name.map { [.init("class", .string($0))] } ?? []))
    }

    private static func part(_ text: String, href: String? = nil, class name: String? = nil) -> JSONValue {
        var members: [JSONValue.Member] = [.init("text", .string(text))]
        if let href { members.append(.init("href", .string(href))) }
        if let name { members.append(.init("class", .string(name))) }
        return .object(members)
    }
}

extension JSONValue {
    /// The digits of a number; nil for another value.
    fileprivate var numberText: String? { if case .number(let text) = self { text } else { nil } }
}
