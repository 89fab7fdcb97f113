internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Synchronization

/// `GET /live`: waits until there is a call that the list of an open page shows. The response, after a second at the
/// latest, also proves that the gateway is reachable and the session is open.
///
/// It is a complete response and not a stream of events, because a proxy may hold back the parts of a stream, and because
/// a page must learn of a session that has ended.
struct LivePages: Sendable {
    let calls: LiveCalls
    let logins: ConsoleLogins
    let isStopping: StopFlag
    let names: NameRules
    /// Returns the time of day.
    let now: @Sendable () -> WallTime

    /// The number of periods after which a request without a call is answered.
    private static let periods = 4

    /// Returns whether there was a call since the position `after`, the position for the next request, and the time.
    func changes(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let session = try context.user().session
        let query = try request.query()
        let filter = LiveFilter(query, names)
        // A page of another site must not use up the requests of this user.
        guard ["same-origin", nil].contains(request.headers[.secFetchSite]) else { throw ConsoleProblem.foreignForm }
        guard calls.beginRequest(of: session.id, reads: filter.needsCalls) else {
            throw ConsoleProblem(.serviceUnavailable, "Too many", "Too many pages are live already.")
        }
        defer { calls.endRequest(of: session.id) }
        var (isChanged, position) = (false, query["after"].flatMap(UInt64.init) ?? 0)
        for period in 0...Self.periods {
            guard let role = await logins.role(of: session.id) else { throw ConsoleProblem.sessionEnded }
            guard role >= filter.role else { throw ConsoleProblem.onlyOwn }
            guard !isStopping.isSet else {
                throw ConsoleProblem(.serviceUnavailable, "Stopping", "The gateway is stopping.")
            }
            (isChanged, position) = calls.changes(after: position, matching: filter)
            guard !isChanged, period < Self.periods, context.channel.isActive else { break }
            try await Task.sleep(for: LiveCalls.period)
        }
        let answer = JSONValue.object([
            .init("at", .string(PageValues.time(now().description))), .init("next", .number("\(position)")),
            .init("changed", .bool(isChanged)),
        ])
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: JSONWriter.bytes(of: answer))))
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

/// The filters of a list of calls, as far as one record of a call tells whether they apply.
///
/// The result is no such filter: a later record of a call changes it, and the call leaves a list or joins it.
struct LiveFilter: Sendable {
    private let kind: String?
    private let members: [(name: String, value: String)]

    init(_ query: [String: String], _ names: NameRules) {
        // As the list does.
        func canonical(_ name: String) -> String? { query[name].map { names.user(PresentedName($0))?.text ?? $0 } }
        kind = query["kind"]
        members = [
            ("user", canonical("from")), ("recipient", canonical("to")), ("user", canonical("user")),
            ("pns", query["platform"].map { Platform(word: $0)?.service.rawValue ?? $0 }),
        ].compactMap { name, value in value.flatMap { $0.isEmpty ? nil : (name, $0) } }
    }

    /// Whether the page has a list of calls.
    var needsCalls: Bool { kind != nil }

    /// The role that the user of the page needs.
    var role: ConsoleRole { needsCalls ? .viewer : .user }

    func matches(_ call: RecentCalls.Call) -> Bool {
        let isListed =
            switch kind {
            case "sends": call.isOfSend
            case "refusals": call.isRefusal
            default: needsCalls
            }
        return isListed && members.allSatisfy { call.record[$0.name]?.string == $0.value }
    }
}
