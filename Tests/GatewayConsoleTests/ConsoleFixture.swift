import Gateway
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayStore
import GatewaySupport
import GatewayTesting
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayConsole
@testable import GatewayOperations

/// The console without sockets, with users whose password is the name, and operations that only record.
final class ConsoleFixture: Sendable {
    static let alice = user("alice")
    static let bob = user("bob")

    let clock = ManualClock()
    let journal = MemoryJournal()
    let sessions: MemorySessions
    let access = HotSwappable(
        ConsoleAccess(
            viewers: [.user(ConsoleFixture.bob)], operators: [.user(ConsoleFixture.alice)],
            isForEveryUser: true))
    /// The status of every account that is queried.
    let status = HotSwappable<AccountStatus?>(nil)
    private let pages: ConsolePages
    private let channel = EmbeddedChannel()

    /// - Parameter callsOutage: Why calls cannot be listed; nil if they can.
    init(
        origin: ConsoleOrigin? = nil, isSecure: Bool = false, hasNodes: Bool = false, callsOutage: String? = nil
    ) {
        let sessions = MemorySessions(clock: clock)
        self.sessions = sessions
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let operations = ControlOperations(
            [ShownUser(), RevokedTokens(), NoBans(), NoCalls(outage: callsOutage), ListedNodes()], journal: journal,
            logger: logger)
        let configuration = ConfigurationFile.read(
            """
            backend: { url: "http://127.0.0.1:5000" }
            authenticators: [{ fixed: {} }]
            policy: { send: [] }
            """, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self])
        ).configuration
        guard let configuration else { preconditionFailure("the configuration of the test is invalid") }
        let (access, status) = (access, status)
        let accounts = ConsoleAccounts(
            logIn: { user, password, _, _ in
                guard password == Array(user.utf8) else {
                    return .failure(Rejection(.credentialsRejected, "wrong"))
                }
                return .success(
                    VerifiedLogin(
                        identity: Identity(user: ConsoleFixture.user(user), authenticator: "fixed"),
                        login: LoginName(user), epoch: sessions.epoch))
            },
            status: { _ in status.value }, access: { access.value },
            provider: ProviderAccounts(
                methods: { LoginMethods(acceptsPasswords: true, offersProvider: false) },
                begin: { _ in .unavailable(.failed) },
                complete: { _, _, _, _ in .failure(Rejection(.credentialsRejected, "no provider")) }))
        pages = ConsolePages(
            ConsoleServer.Parts(
                operations: operations, accounts: accounts,
                sessions: ConsoleSessions(clocks: clock.clocks, revocations: sessions),
                live: LiveCalls(JournalSource(directory: "", followers: .init()), logger: logger),
                verification: RunningVerification(
                    operations, JournalVerifier(configuration), clocks: clock.clocks),
                health: { ConsoleHealth(obstacle: nil, warning: nil, backends: [], records: 0, checkpoint: nil) },
                groups: { _ in nil }, names: NameRules(), clocks: clock.clocks, journal: journal,
                hasNodes: hasNodes, logger: logger),
            origin: RequestOriginCheck(configured: origin, isSecure: isSecure))
    }

    /// Returns a user by canonical name.
    static func user(_ name: String) -> UserName {
        guard let user = UserName(canonical: name) else { preconditionFailure("no canonical name") }
        return user
    }

    /// A response with the whole body.
    struct Answer {
        let status: Int
        let fields: HTTPFields
        let body: String
    }

    /// Requests a path as a browser does.
    func get(_ path: String, cookie: String? = nil, fields: [(String, String)] = []) async throws -> Answer {
        try await request(.get, path, cookie, fields, form: nil)
    }

    /// Submits a form as a page of the console does.
    func post(
        _ path: String, cookie: String? = nil, form: [(String, String)],
        fields: [(String, String)] = [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://127.0.0.1:8090")]
    ) async throws -> Answer {
        try await request(.post, path, cookie, fields, form: form)
    }

    /// Logs a user in. Returns the value for `Cookie`, and the token of the user's forms.
    func logIn(_ user: String) async throws -> (cookie: String, token: String) {
        let answer = try await post("/login", form: [("user", user), ("password", user), ("next", "/users")])
        let cookie = String((answer.fields[.setCookie] ?? "").prefix { $0 != ";" })
        let page = try await get(user == "carol" ? "/me" : "/users", cookie: cookie)
        let token = page.body.split(separator: "name=\"token\" value=\"").dropFirst().first?.prefix { $0 != "\"" }
        return (cookie, String(token ?? ""))
    }

    private func request(
        _ method: HTTPRequest.Method, _ path: String, _ cookie: String?, _ fields: [(String, String)],
        form: [(String, String)]?
    ) async throws -> Answer {
        var head = HTTPRequest(method: method, scheme: nil, authority: "127.0.0.1:8090", path: path)
        for (name, value) in fields { head.headerFields[try #require(HTTPField.Name(name))] = value }
        if let cookie { head.headerFields[.cookie] = cookie }
        var body = ByteBuffer()
        if let form {
            if head.headerFields[.contentType] == nil {
                head.headerFields[.contentType] = "application/x-www-form-urlencoded"
            }
            body.writeString(
                form.map { "\(ConsoleLinks.encode($0))=\(ConsoleLinks.encode($1))" }.joined(separator: "&"))
        }
        let response = try await pages.response(
            to: Request(head: head, body: RequestBody(buffer: body)),
            from: Peer(address: .v4(0x7F00_0001), text: "127.0.0.1"), on: channel)
        let buffer = HotSwappable(ByteBuffer())
        try await response.body.write(CollectingWriter(buffer: buffer))
        return Answer(
            status: response.status.code, fields: response.headers, body: String(buffer: buffer.value))
    }
}

/// Collects the body of a response.
private struct CollectingWriter: ResponseBodyWriter {
    let buffer: HotSwappable<ByteBuffer>

    mutating func write(_ part: ByteBuffer) async throws { buffer.value.writeImmutableBuffer(part) }
    consuming func finish(_ trailers: HTTPFields?) async throws {}
}

/// `users show` of a user with one device and one session, whatever the name.
private struct ShownUser: ControlOperation {
    static let name = "users show"
    static let arguments: Set<String> = ["user"]

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let name = try arguments.text("user") ?? ""
        try await context.send(
            .object([
                .init("user", .string(name)),
                .init("registrations", .array([.object([.init("registration", .string("device-of-\(name)"))])])),
                .init("sessions", .array([.object([.init("session", .string("session-of-\(name)"))])])),
                .init("received", .array([])), .init("limits", .array([])), .init("bans", .array([])),
            ]))
    }
}

/// `tokens revoke` that only records.
private struct RevokedTokens: ControlOperation {
    static let name = "tokens revoke"
    static let arguments: Set<String> = ["user", "session", "token", "until"]

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        try await context.record(.operatorRevoke, target: try arguments.text("session") ?? "everything")
    }
}

private struct NoBans: ControlOperation {
    static let name = "bans list"
    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {}
}

private struct NoCalls: ControlOperation {
    static let name = "sends list"
    static let arguments: Set<String> = ["from", "to", "user", "platform", "result", "since", "until"]
    let outage: String?
    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        if let outage { throw .unavailable(outage) }
    }
}

/// `nodes list` of three gateways. The second has another users file and a hostile name, the third gives no sign of life.
private struct ListedNodes: ControlOperation {
    static let name = "nodes list"
    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        for (host, state, seen, accounts) in [
            ("alpha", "this", 2, "agree"), ("<b>beta", "live", 2, "differ"), ("gamma", "live", 7, "agree"),
        ] {
            try await context.send(
                .object([
                    .init("host", .string(host)), .init("node", .string("n-\(host.count)")),
                    .init("version", .string("1.0")),
                    .init("fence", .number("7")), .init("state", .string(state)), .init("seen", .number("\(seen)")),
                    .init("lag", .number("0")), .init("accounts", .string(accounts)),
                ]))
        }
    }
}
