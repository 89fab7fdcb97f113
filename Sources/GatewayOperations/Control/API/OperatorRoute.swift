internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird

/// A route of the operator API: how an operation is requested over HTTP, and how its results are returned.
///
/// The server and the client use the same routes. `docs/operator-api.yaml` describes them for other programs.
struct OperatorRoute: Sendable {
    /// The type of an argument, which decides how it is written in a query.
    enum Kind: Sendable, Hashable {
        case text, flag, time, texts
    }

    /// An argument of the operation.
    struct Parameter: Sendable, Hashable {
        /// The name in the path, the query or the body.
        let name: String
        /// The name of the operation's argument.
        let argument: String
        let kind: Kind

        init(_ name: String, _ kind: Kind = .text, argument: String? = nil) {
            self.name = name
            self.argument = argument ?? name
            self.kind = kind
        }
    }

    /// The form of a successful response.
    enum Output: Sendable, Hashable {
        /// `{"items":[…],"next":"…"}`, a page of a list.
        case page
        /// An object with one member that lists all results. A failed operation adds the member to the problem.
        case collection(String)
        /// The only result, or 204 without one.
        case object
        /// Lines of JSON: the results while they arise, the totals, and a final line that says how the operation ended.
        case lines
    }

    let method: HTTPRequest.Method
    /// The path. A component in braces is a parameter.
    let path: String
    /// The name of the operation.
    let operation: String
    let pathParameter: Parameter?
    let query: [Parameter]
    let body: [Parameter]
    let output: Output

    init(
        _ method: HTTPRequest.Method, _ path: String, _ operation: String, query: [Parameter] = [],
        body: [Parameter] = [], _ output: Output
    ) {
        self.method = method
        self.path = path
        self.operation = operation
        pathParameter = path.split(separator: "/").first { $0.hasPrefix("{") }
            .map { Parameter(String($0.dropFirst().dropLast())) }
        self.query = query
        self.body = body
        self.output = output
    }

    /// The default number of items in a page.
    static let defaultPageSize = 100
    /// The maximum number of items in a page.
    static let maximumPageSize = 1000
    /// The maximum length of a request's body in bytes. A token of 16 KiB fits.
    static let maximumBodyLength = 32 << 10
    /// The maximum length of a line in a response of lines, in bytes.
    static let maximumLineLength = 1 << 20

    /// The selection of keys of limits. The name of a limit is `name`, because `limit` is the size of a page.
    private static let limits: [Parameter] = [
        Parameter("name", argument: "limit"), Parameter("user"), Parameter("group"), Parameter("recipient"),
        Parameter("address"), Parameter("pns"),
    ]

    /// The filters of lists of the journal.
    private static let journal: [Parameter] = [
        Parameter("from"), Parameter("to"), Parameter("user"), Parameter("platform"), Parameter("result"),
        Parameter("since", .time), Parameter("until", .time),
    ]

    /// The arguments of operations that may delete registrations of the hub which others made.
    private static let deletions: [Parameter] = [
        Parameter("delete", .texts), Parameter("confirmed"), Parameter("all", .flag),
        Parameter("adopt_installations", .flag),
    ]

    /// The path of the events of the journal, the only route without an operation.
    static let eventsPath = "/v1/events"

    /// Every route whose operation is a `ControlOperation`. No other place lists them.
    static let all: [OperatorRoute] = [
        OperatorRoute(.post, "/v1/reload", "reload", .collection("problems")),
        OperatorRoute(.get, "/v1/bans", "bans list", .page),
        OperatorRoute(
            .delete, "/v1/bans", "bans lift",
            query: [Parameter("user"), Parameter("address"), Parameter("all", .flag)], .object),
        OperatorRoute(.get, "/v1/limits", "limits show", query: limits, .page),
        OperatorRoute(.delete, "/v1/limits", "limits reset", query: limits + [Parameter("all", .flag)], .object),
        OperatorRoute(.get, "/v1/sessions", "tokens list", query: [Parameter("user")], .page),
        OperatorRoute(
            .post, "/v1/revocations", "tokens revoke",
            body: [Parameter("user"), Parameter("session"), Parameter("token"), Parameter("until", .time)], .object),
        OperatorRoute(.get, "/v1/registrations", "registrations list", query: [Parameter("user")], .page),
        OperatorRoute(.delete, "/v1/registrations/{registration}", "registrations revoke", .object),
        OperatorRoute(
            .post, "/v1/registrations/import", "registrations import",
            body: [Parameter("file"), Parameter("name"), Parameter("purge", .flag), Parameter("confirm_all", .flag)]
                + deletions, .lines),
        OperatorRoute(
            .post, "/v1/registrations/reconcile", "registrations reconcile",
            body: [Parameter("connection_string"), Parameter("apply", .flag)] + deletions, .lines),
        OperatorRoute(.get, "/v1/policy", "policy show", .object),
        OperatorRoute(
            .post, "/v1/policy/explain", "explain",
            body: [
                Parameter("user"), Parameter("groups", .texts), Parameter("token"), Parameter("call"),
                Parameter("body"),
            ], .object),
        OperatorRoute(.post, "/v1/backups", "backup", body: [Parameter("target")], .object),
        OperatorRoute(.get, "/v1/sends", "sends list", query: journal, .page),
        OperatorRoute(.get, "/v1/refusals", "refusals list", query: journal, .page),
        OperatorRoute(.get, "/v1/calls/{call}", "calls show", .object),
        OperatorRoute(
            .get, "/v1/statistics/minutes", "statistics minutes",
            query: [Parameter("since", .time), Parameter("until", .time)], .object),
        OperatorRoute(
            .get, "/v1/statistics/pairs", "statistics pairs",
            query: [
                Parameter("user"), Parameter("from"), Parameter("to"), Parameter("result"), Parameter("since", .time),
                Parameter("until", .time), Parameter("limit"),
            ], .object),
        OperatorRoute(.get, "/v1/nodes", "nodes list", .page),
        OperatorRoute(.get, "/v1/accounts/waiting", "accounts list", .page),
        OperatorRoute(.post, "/v1/accounts/apply", "accounts apply", .object),
        OperatorRoute(.get, "/v1/users/{user}", "users show", .object),
        OperatorRoute(.get, "/v1/journal/segments", "journal segments", .page),
        OperatorRoute(.get, "/v1/journal/verification", "journal verify", .object),
    ]

    /// Returns the route of an operation; nil if it has none.
    static func of(_ operation: String) -> OperatorRoute? { all.first { $0.operation == operation } }

    /// Returns the methods of the resource at the path of a request, which does not include a query.
    static func methods(at path: String) -> [String] {
        let given = path.split(separator: "/")
        let routes = all.filter { route in
            let own = route.path.split(separator: "/")
            return own.count == given.count && zip(own, given).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
        }
        let isOfEvents = given == eventsPath.split(separator: "/")
        return (routes.map(\.method.rawValue) + (isOfEvents ? ["GET"] : [])).sorted()
    }
}
