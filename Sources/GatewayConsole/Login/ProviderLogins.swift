package import Gateway
package import GatewayCore
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird

/// The ways to log in that a configuration offers.
package struct LoginMethods: Sendable, Hashable {
    let acceptsPasswords: Bool
    let offersProvider: Bool

    /// Creates a value.
    package init(acceptsPasswords: Bool, offersProvider: Bool) {
        self.acceptsPasswords = acceptsPasswords
        self.offersProvider = offersProvider
    }
}

/// Logins at the identity provider of an authenticator.
package struct ProviderAccounts: Sendable {
    /// Returns the ways to log in under the current configuration.
    package let methods: @Sendable () -> LoginMethods
    /// Returns the URL of the provider for a login.
    package let begin: @Sendable (BrowserLoginRequest) async -> BrowserLoginStart
    /// Completes a login that began at the epoch, with the limits and records of calls.
    package let complete:
        @Sendable (BrowserLoginResponse, RevocationEpoch, Peer, CallID) async -> Result<VerifiedLogin, Rejection>

    /// Creates the logins from their parts.
    package init(
        methods: @escaping @Sendable () -> LoginMethods,
        begin: @escaping @Sendable (BrowserLoginRequest) async -> BrowserLoginStart,
        complete:
            @escaping @Sendable (BrowserLoginResponse, RevocationEpoch, Peer, CallID) async -> Result<
                VerifiedLogin, Rejection
            >
    ) {
        self.methods = methods
        self.begin = begin
        self.complete = complete
    }
}

/// Logs users in at the identity provider: redirects the browser there, and begins a session when it returns.
final class ProviderLogins: Sendable {
    /// The path at which a login begins.
    static let path = "/login/provider"
    /// The path to which the provider redirects the browser.
    static let callbackPath = "/login/callback"
    /// The maximum length of an authorization code in bytes.
    private static let maximumCodeLength = 4096

    private let accounts: ProviderAccounts
    private let logins: ConsoleLogins
    private let pending: PendingLogins
    private let clocks: Clocks
    private let renderer: PageRenderer

    init(_ accounts: ProviderAccounts, logins: ConsoleLogins, clocks: Clocks, renderer: PageRenderer) {
        self.accounts = accounts
        self.logins = logins
        self.clocks = clocks
        self.renderer = renderer
        pending = PendingLogins(clocks: clocks)
    }

    /// Begins a login, or with `again` in the query a new proof of the user of a session.
    func begin(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard accounts.methods().offersProvider else {
            throw ConsoleProblem(
                .notFound, "Not offered", "The configuration offers no login with an identity provider.")
        }
        guard let origin = logins.origin.ownOrigin(of: request) else {
            throw ConsoleProblem(
                .misdirectedRequest, "Unknown host",
                "A login with the identity provider needs the name of the console in \"console.origin\".")
        }
        let query = try request.query()
        let next = RequestOriginCheck.path(query["next"])
        // Another site must not replace the login that is in progress in this browser, or begin one unnoticed.
        if let site = request.headers[.secFetchSite], site != "same-origin", site != "none" {
            return .seeOther(ConsoleLinks.path("/login", [("next", next)]))
        }
        var purpose = PendingLogins.Purpose.session
        if let (session, _) = await logins.current(request) {
            guard query["again"] != nil, session.provider != nil else { return .seeOther(next) }
            purpose = .proof(of: session.id, since: clocks.wall())
        }
        let beginning = pending.begin(
            purpose, next: next, redirectURI: origin + Self.callbackPath, epoch: logins.sessions.epoch,
            from: context.peer)
        guard let beginning, case .redirect(let url) = await accounts.begin(beginning.request) else {
            return logins.page(
                next: next, status: .serviceUnavailable,
                "The identity provider cannot be reached now. Try again in a moment.")
        }
        var response = Response.seeOther(url)
        response.headers[.setCookie] = setCookie(beginning.cookie, maximumAge: PendingLogins.lifetime)
        return response
    }

    /// Completes a login when the provider has redirected the browser back.
    func complete(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let query = try request.query()
        var response: Response
        if let login = pending.remove(state: query["state"] ?? "", cookie: request.cookie(cookieName) ?? "") {
            response = await complete(login, query, context)
        } else {
            response = logins.page(
                next: "/", status: .badRequest,
                "The login did not begin in this browser, is older than ten minutes, or was completed before. "
                    + "Log in again.")
        }
        response.headers[values: .setCookie].append(setCookie("", maximumAge: .zero))
        return response
    }

    private func complete(
        _ login: PendingLogins.Login, _ query: [String: String], _ context: ConsoleContext
    ) async -> Response {
        // What the provider says of the error is text of a stranger, so it is not shown.
        guard query["error"] == nil, let code = query["code"], (1...Self.maximumCodeLength).contains(code.utf8.count)
        else {
            return logins.page(next: login.next, status: .unauthorized, "The identity provider did not log you in.")
        }
        var provedSince: WallTime?
        if case .proof(_, let time) = login.purpose { provedSince = time }
        let call = logins.nextCall()
        let response = BrowserLoginResponse(
            code: Secret(code.utf8), issuer: query["iss"], verifier: login.verifier, nonce: login.nonce,
            redirectURI: login.redirectURI, provedSince: provedSince)
        switch await accounts.complete(response, login.epoch, context.peer, call) {
        case .failure(let rejection):
            return logins.page(next: login.next, problem: rejection, isAtProvider: true)
        case .success(let verified):
            guard case .proof(let session, _) = login.purpose else {
                return await logins.begin(verified, next: login.next, call, context.peer, continuation(to: login.next))
            }
            guard logins.sessions.prove(session, by: verified) else {
                return logins.page(
                    next: login.next, status: .forbidden,
                    "You logged in at the identity provider as another user, or your session has ended.")
            }
            return continuation(to: login.next)
        }
    }

    /// Returns the page that leads to a page of the console.
    ///
    /// A redirection would not do: the request for its target would count as one of the provider's site, and browsers
    /// send no cookie with `SameSite=Strict` with it (RFC 6265bis, section 5.2). This page is one of the console's own.
    private func continuation(to next: String) -> Response {
        renderer.page(
            "continue", title: "Logged in",
            ["heading": "Logged in", "detail": "The identity provider has logged you in.", "refresh": next])
    }

    /// Returns the page that leads to the provider for a new proof before a change.
    ///
    /// It is the response to a form, whose redirection to another host `form-action` of the content security policy
    /// would block.
    ///
    /// - Parameter back: The page of the console after the proof.
    static func proofPage(_ renderer: PageRenderer, back: String, _ context: ConsoleContext) -> Response {
        renderer.page(
            "continue", title: "Log in again", for: context.login,
            [
                "heading": "Log in again",
                "detail": "Your login is more than five minutes old, so prove again at the identity provider who you "
                    + "are. Nothing was changed; make the change again afterwards.",
                "onward": ConsoleLinks.path(path, [("again", "1"), ("next", back)]), "page": back,
            ])
    }

    /// The name of the cookie that binds a login to the browser in which it began.
    private var cookieName: String {
        logins.origin.usesHTTPS ? "__Host-notify-gateway-login" : "notify-gateway-console-login"
    }

    /// The cookie comes back with the provider's redirection, which is a request of another site, so it is `Lax`.
    private func setCookie(_ value: String, maximumAge: Duration) -> String {
        "\(cookieName)=\(value); Path=/; Max-Age=\(maximumAge.components.seconds); HttpOnly; SameSite=Lax"
            + (logins.origin.usesHTTPS ? "; Secure" : "")
    }
}
