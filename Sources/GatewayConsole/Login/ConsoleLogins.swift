package import Gateway
package import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import Synchronization

/// The verification of users for the console, by the gateway's own authenticators.
package struct ConsoleAccounts: Sendable {
    /// Verifies a password as that of a call, with its throttle, delay and records.
    package let logIn:
        @Sendable (_ user: String, _ password: [UInt8], Peer, CallID) async -> Result<VerifiedLogin, Rejection>
    /// Returns the status of an account; nil if it can be determined only at a login.
    package let status: @Sendable (Account) async -> AccountStatus?
    /// Returns the users with access under the current configuration.
    package let access: @Sendable () -> ConsoleAccess
    /// Logins at an identity provider.
    package let provider: ProviderAccounts

    /// Creates the verification from its parts.
    package init(
        logIn: @escaping @Sendable (String, [UInt8], Peer, CallID) async -> Result<VerifiedLogin, Rejection>,
        status: @escaping @Sendable (Account) async -> AccountStatus?,
        access: @escaping @Sendable () -> ConsoleAccess, provider: ProviderAccounts
    ) {
        self.logIn = logIn
        self.status = status
        self.access = access
        self.provider = provider
    }
}

/// Logs users in and out, and finds the session of a request.
final class ConsoleLogins: Sendable {
    let sessions: ConsoleSessions
    let origin: RequestOriginCheck
    private let accounts: ConsoleAccounts
    private let journal: any Journal
    private let renderer: PageRenderer
    private let logger: Logger
    private let ids = Mutex(CallIDGenerator())

    init(
        _ accounts: ConsoleAccounts, sessions: ConsoleSessions, origin: RequestOriginCheck, journal: any Journal,
        renderer: PageRenderer, logger: Logger
    ) {
        self.accounts = accounts
        self.sessions = sessions
        self.origin = origin
        self.journal = journal
        self.renderer = renderer
        self.logger = logger
    }

    /// The name of the cookie. With the prefix, browsers accept it only from this host and over https (RFC 6265bis,
    /// section 4.1.3.2).
    private var cookieName: String { origin.usesHTTPS ? "__Host-notify-gateway" : "notify-gateway-console" }

    /// Returns the session of a request and the role of its user; nil if there is none, or the user has no access any
    /// more.
    func current(_ request: Request) async -> (session: ConsoleSession, role: ConsoleRole)? {
        // Requests that an open page makes by itself do not keep a session alive.
        let isUse = !request.isMadeByPage
        guard let cookie = request.cookie(cookieName), let session = sessions.find(cookie, isUse: isUse) else {
            return nil
        }
        return await checked(session)
    }

    /// Returns the present role of the user of a session, without counting a request; nil if the session has ended.
    func role(of id: SHA256.Digest) async -> ConsoleRole? {
        guard let session = sessions.session(id) else { return nil }
        return await checked(session)?.role
    }

    /// Returns the session with the current groups and role of its user. Ends it if the account has ended or has no
    /// access any more; then returns nil.
    private func checked(_ session: ConsoleSession) async -> (session: ConsoleSession, role: ConsoleRole)? {
        var session = session
        if sessions.needsStatus(session) {
            let status = await accounts.status(session.account)
            guard let current = sessions.record(status, of: session) else { return nil }
            session = current
        }
        guard let role = accounts.access().role(of: session.user) else {
            sessions.end(session.id)
            return nil
        }
        return (session, role)
    }

    /// Returns the id of a login, for records and log lines.
    func nextCall() -> CallID { ids.withLock { $0.next() } }

    /// Returns the login page.
    func page(_ request: Request) async throws -> Response {
        let next = RequestOriginCheck.path(try request.query()["next"])
        if await current(request) != nil { return .seeOther(next) }
        return page(next: next)
    }

    /// Logs a user in with the name and the password of a form.
    func logIn(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        guard origin.isSameOrigin(request) else { throw ConsoleProblem.foreignForm }
        let form = try await request.form()
        let next = RequestOriginCheck.path(form["next"])
        let call = nextCall()
        let login: VerifiedLogin
        switch await accounts.logIn(form["user"] ?? "", Array((form["password"] ?? "").utf8), context.peer, call) {
        case .success(let success): login = success
        case .failure(let rejection): return page(next: next, problem: rejection)
        }
        let response = await begin(login, next: next, call, context.peer, .seeOther(next))
        // A session that somebody else may have prepared in this browser is not continued.
        if response.status == .seeOther, let cookie = request.cookie(cookieName), let old = sessions.find(cookie) {
            sessions.end(old.id)
        }
        return response
    }

    /// Begins a session of a user who has proved who they are, and returns the response with its cookie.
    ///
    /// - Parameter response: The response that leads to the page `next`.
    func begin(
        _ login: VerifiedLogin, next: String, _ call: CallID, _ peer: Peer, _ response: Response
    ) async -> Response {
        let user = login.identity.user
        guard accounts.access().role(of: login.identity) != nil else {
            record(.operatorLogin, user, peer, call, .failed)
            logger.notice("Console login without access", metadata: ["call": "\(call)", "user": "\(user)"])
            return page(next: next, status: .forbidden, "You have no access to the console.")
        }
        do {
            try await journal.record(record(of: .operatorLogin, user, peer, call, .accepted))
        } catch {
            return page(
                next: next, status: .serviceUnavailable, "Logins cannot be recorded now, so nobody can log in.")
        }
        guard let (_, cookie) = sessions.begin(login) else {
            record(.operatorLogin, user, peer, call, .failed)
            return page(next: next, status: .forbidden, "The account was revoked.")
        }
        var response = response
        response.headers[.setCookie] = setCookie(cookie, maximumAge: ConsoleSessions.lifetime.components.seconds)
        return response
    }

    /// Ends the session of a request.
    func logOut(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let session = try context.user().session
        try requireOwnForm(request, try await request.form(), session)
        sessions.end(session.id)
        record(.operatorLogout, session.user.user, context.peer, nextCall(), .accepted)
        var response = Response.seeOther("/login")
        response.headers[.setCookie] = setCookie("", maximumAge: 0)
        response.headers[.clearSiteData] = "\"cache\", \"storage\""
        return response
    }

    /// Verifies again who the user of a session is.
    ///
    /// - Returns: Nil if the password is the user's, else a sentence for the user.
    func prove(_ session: ConsoleSession, password: String, _ peer: Peer) async -> String? {
        let call = nextCall()
        switch await accounts.logIn(session.login.text, Array(password.utf8), peer, call) {
        case .success(let login) where login.identity.user == session.user.user:
            sessions.prove(session.id)
            return nil
        case .success: return "That is the password of another user."
        case .failure(let rejection): return Self.sentence(rejection)
        }
    }

    /// Throws unless the form is one that the console made for this session.
    func requireOwnForm(
        _ request: Request, _ form: [String: String], _ session: ConsoleSession
    ) throws(ConsoleProblem) {
        guard origin.isSameOrigin(request), RandomText.equal(form["token"] ?? "", session.formToken) else {
            throw .foreignForm
        }
    }

    /// Returns the login page after a rejected login.
    ///
    /// - Parameter isAtProvider: Whether the user logged in at the identity provider.
    func page(next: String, problem rejection: Rejection, isAtProvider: Bool = false) -> Response {
        let status: HTTPResponse.Status =
            switch rejection.code {
            case .rateLimited: .tooManyRequests
            case .credentialsRejected, .identityUnmapped: .unauthorized
            default: .serviceUnavailable
            }
        var response = page(next: next, status: status, Self.sentence(rejection, isAtProvider: isAtProvider))
        if case .limit(_, let seconds) = rejection.extra { response.headers[.retryAfter] = "\(max(1, seconds))" }
        return response
    }

    /// Returns the login page with the ways to log in that the configuration offers.
    func page(next: String, status: HTTPResponse.Status = .ok, _ problem: String? = nil) -> Response {
        let methods = accounts.provider.methods()
        var model: PageModel = ["next": next, "passwords": methods.acceptsPasswords]
        if methods.offersProvider { model["provider"] = ConsoleLinks.path(ProviderLogins.path, [("next", next)]) }
        if let problem { model["problem"] = problem }
        return renderer.page("login", title: "Log in", model, status: status)
    }

    /// Returns what a user may know of a rejected login.
    static func sentence(_ rejection: Rejection, isAtProvider: Bool = false) -> String {
        switch rejection.code {
        case .rateLimited:
            if case .limit(_, let seconds) = rejection.extra {
                return "Too many failed logins. Try again in \(max(1, seconds)) s."
            }
            return "Too many failed logins. Try again later."
        case .credentialsRejected, .identityUnmapped:
            return isAtProvider
                ? "The login at the identity provider was not accepted." : "The name or the password is wrong."
        default: return "\(isAtProvider ? "Logins" : "Passwords") cannot be verified now. Try again in a moment."
        }
    }

    private func setCookie(_ value: String, maximumAge: Int64) -> String {
        "\(cookieName)=\(value); Path=/; Max-Age=\(maximumAge); HttpOnly; SameSite=Strict"
            + (origin.usesHTTPS ? "; Secure" : "")
    }

    private func record(
        of action: Action, _ user: UserName, _ peer: Peer, _ call: CallID, _ result: OperatorRecord.Result
    ) -> JournalRecord {
        var facts = CallFacts(call: call, peer: peer)
        facts.action = action
        return JournalRecord(.operator, facts: facts, result: result.rawValue, requester: .user(user, peer))
    }

    private func record(
        _ action: Action, _ user: UserName, _ peer: Peer, _ call: CallID, _ result: OperatorRecord.Result
    ) {
        journal.append(record(of: action, user, peer, call, result))
    }
}

extension HTTPField.Name {
    /// Removes what the browser has stored (W3C Clear Site Data).
    fileprivate static let clearSiteData = HTTPField.Name("Clear-Site-Data")!
}
