import Gateway
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewaySupport
import GatewayTesting
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

@testable import GatewayConsole

/// The logins of a console with an identity provider whose answers the test decides.
final class ProviderLoginFixture: Sendable {
    struct State: Sendable {
        var methods = LoginMethods(acceptsPasswords: true, offersProvider: true)
        var start: BrowserLoginStart?
        var user = "alice"
        var provider = ProviderLogin(issuer: "https://id.example.com", subject: "00u1", session: "s1")
        var rejection: Rejection?
        var access = ConsoleAccess(viewers: [], operators: [.anyUser], isForEveryUser: false)
        var requests: [BrowserLoginRequest] = []
        var responses: [BrowserLoginResponse] = []
    }

    let clock = ManualClock()
    let state = Mutex(State())
    let journal = MemoryJournal()
    let revocations: MemorySessions
    let sessions: ConsoleSessions
    let origin: RequestOriginCheck
    let renderer = PageRenderer(isSelfService: { false }, hasNodes: false, now: { WallTime(seconds: 0) })

    init(origin: RequestOriginCheck = RequestOriginCheck(configured: nil, isSecure: false)) {
        revocations = MemorySessions(clock: clock)
        sessions = ConsoleSessions(clocks: clock.clocks, revocations: revocations)
        self.origin = origin
    }

    /// A copy of the state.
    var current: State { state.withLock(\.self) }

    /// The console's logins, for one test.
    func make() -> (logins: ConsoleLogins, provider: ProviderLogins) {
        let accounts = ProviderAccounts(
            methods: { self.state.withLock(\.methods) },
            begin: { request in
                self.state.withLock { state in
                    state.requests.append(request)
                    return state.start ?? .redirect(to: "https://id.example.com/login?state=\(request.state)")
                }
            },
            complete: { response, epoch, _, _ in
                self.state.withLock { state in
                    state.responses.append(response)
                    if let rejection = state.rejection { return .failure(rejection) }
                    let now = self.clock.clocks.wall()
                    let token = TokenReference(
                        id: "t", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60),
                        provider: state.provider)
                    let user = Identity(
                        user: UserName(canonical: state.user)!, authenticator: "provider", token: token)
                    return .success(
                        VerifiedLogin(identity: user, login: LoginName(state.provider.subject), epoch: epoch))
                }
            })
        let logins = ConsoleLogins(
            ConsoleAccounts(
                logIn: { _, _, _, _ in .failure(Rejection(.credentialsRejected, "wrong")) }, status: { _ in nil },
                access: { self.state.withLock(\.access) }, provider: accounts),
            sessions: sessions, origin: origin, journal: journal, renderer: renderer,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return (logins, ProviderLogins(accounts, logins: logins, clocks: clock.clocks, renderer: renderer))
    }
}

/// A browser with its cookies.
final class TestBrowser: Sendable {
    private let cookies = Mutex<[String: String]>([:])
    private let fixture: ProviderLoginFixture
    private let logins: ConsoleLogins
    private let provider: ProviderLogins
    let host: String

    init(
        _ fixture: ProviderLoginFixture, _ made: (logins: ConsoleLogins, provider: ProviderLogins),
        host: String = "127.0.0.1:8500"
    ) {
        self.fixture = fixture
        (logins, provider) = made
        self.host = host
    }

    var cookieNames: Set<String> { Set(cookies.withLock { $0.keys }) }

    func setCookie(_ name: String, _ value: String) { cookies.withLock { $0[name] = value } }

    /// Requests a page of the login.
    ///
    /// - Parameter isCrossSite: Whether another site caused the request, so that cookies with `SameSite=Strict` are not
    ///   sent.
    func get(_ path: String, isCrossSite: Bool = false) async throws -> TestPage {
        let field = cookies.withLock { cookies in
            cookies.filter { !isCrossSite || $0.key.hasSuffix("-login") }.map { "\($0.key)=\($0.value)" }
                .joined(separator: "; ")
        }
        let fields: HTTPFields = [.cookie: field, .secFetchSite: isCrossSite ? "cross-site" : "same-origin"]
        let request = Request(
            head: HTTPRequest(method: .get, scheme: "http", authority: host, path: path, headerFields: fields),
            body: RequestBody(buffer: ByteBuffer()))
        let context = ConsoleContext.test()
        let response: Response =
            if path.hasPrefix(ProviderLogins.callbackPath) {
                try await provider.complete(request, context)
            } else if path.hasPrefix(ProviderLogins.path) {
                try await provider.begin(request, context)
            } else {
                try await logins.page(request)
            }
        let page = try await TestPage(response)
        for cookie in page.cookies {
            let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
            cookies.withLock { $0[pair[0]] = cookie.contains("Max-Age=0;") ? nil : pair.count > 1 ? pair[1] : "" }
        }
        return page
    }

    /// Begins a login and returns the state that the provider gets.
    func begin(_ path: String = ProviderLogins.path) async throws -> String {
        _ = try await get(path)
        return fixture.state.withLock { $0.requests.last?.state ?? "" }
    }

    /// Requests the callback as the provider's redirection does.
    func call(back state: String, _ rest: String = "&code=c-1") async throws -> TestPage {
        try await get("\(ProviderLogins.callbackPath)?state=\(state)\(rest)", isCrossSite: true)
    }

    /// Submits the form of a change to bob, as the page of the console does.
    func change(_ form: String) async throws -> TestPage {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let users = UserPages(
            queries: ConsoleQueries(ControlOperations([], journal: fixture.journal, logger: logger)),
            renderer: fixture.renderer, changes: ChangeForms(logins: logins, renderer: fixture.renderer))
        let router = Router(context: ConsoleContext.self)
        router.add(middleware: ConsoleHeaders(origin: fixture.origin, renderer: fixture.renderer, logger: logger))
        router.group().add(middleware: ConsoleAuthentication(logins: logins, role: .viewer)).post(
            "/users/{user}/changes"
        ) {
            try await users.change($0, $1)
        }
        let field = cookies.withLock { $0.map { "\($0.key)=\($0.value)" }.joined(separator: "; ") }
        let body = "token=\(session?.formToken ?? "")&\(form)"
        let request = Request(
            head: HTTPRequest(
                method: .post, scheme: "http", authority: host, path: "/users/bob/changes",
                headerFields: [
                    .cookie: field, .secFetchSite: "same-origin", .contentType: "application/x-www-form-urlencoded",
                ]),
            body: RequestBody(buffer: ByteBuffer(string: body)))
        return try await TestPage(try await router.buildResponder().respond(to: request, context: .test()))
    }

    /// The session of the browser; nil without one.
    var session: ConsoleSession? {
        cookies.withLock(\.self).filter { !$0.key.hasSuffix("-login") }.values.lazy
            .compactMap { self.fixture.sessions.find($0) }.first
    }
}

extension ConsoleContext {
    static func test() -> ConsoleContext {
        ConsoleContext(
            source: .init(
                channel: EmbeddedChannel(), peer: .gateway,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    }
}

/// A response with its text.
struct TestPage: Sendable {
    let status: Int
    let location: String?
    let cookies: [String]
    let text: String

    init(_ response: Response) async throws {
        status = response.status.code
        location = response.headers[.location]
        cookies = response.headers[values: .setCookie]
        let collector = Collector()
        try await response.body.write(Writer(collector: collector))
        text = collector.text.withLock(\.self)
    }

    private final class Collector: Sendable {
        let text = Mutex("")
    }

    private struct Writer: ResponseBodyWriter {
        let collector: Collector
        mutating func write(_ buffer: ByteBuffer) async throws {
            collector.text.withLock { $0 += String(buffer: buffer) }
        }
        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}

extension ProviderAccounts {
    /// A console without an identity provider.
    static let none = ProviderAccounts(
        methods: { LoginMethods(acceptsPasswords: true, offersProvider: false) },
        begin: { _ in .unavailable(.failed) },
        complete: { _, _, _, _ in .failure(Rejection(.authenticatorUnavailable, "no provider")) })
}
