internal import GatewayCore
internal import GatewayOperations
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// The context of a request of the console: its client, and its user once that is known.
struct ConsoleContext: RequestContext {
    /// The values from which a context is created.
    struct Source: RequestContextSource {
        let channel: any Channel
        let peer: Peer
        let logger: Logger
    }

    var coreContext: CoreRequestContextStorage
    let channel: any Channel
    let peer: Peer
    /// The session and the role of the user; nil before the login.
    var login: (session: ConsoleSession, role: ConsoleRole)?

    init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        peer = source.peer
    }

    /// The session and the role. Only routes behind `ConsoleAuthentication` read it.
    func user() throws(ConsoleProblem) -> (session: ConsoleSession, role: ConsoleRole) {
        guard let login else { throw ConsoleProblem(.unauthorized, "Log in", "You are not logged in.") }
        return login
    }

    /// The user as the operator of an operation.
    func requester() throws(ConsoleProblem) -> Operator { .user(try user().session.user.user, peer) }
}

extension Request {
    /// The maximum length of a form in bytes.
    static let maximumFormLength = 32 << 10

    /// Whether an open page made the request by itself, and not its user.
    var isMadeByPage: Bool { headers[.consoleRefresh] != nil }

    /// Returns the parameters of the query by name.
    func query() throws(ConsoleProblem) -> [String: String] { try Self.values(uri.query) }

    /// Returns the fields of a form.
    func form() async throws -> [String: String] {
        let type = (headers[.contentType] ?? "").prefix { $0 != ";" }
        guard type == "application/x-www-form-urlencoded" else {
            throw ConsoleProblem(.unsupportedMediaType, "Invalid request", "The request is not a form.")
        }
        let body = try await body.collect(upTo: Self.maximumFormLength)
        return try Self.values(String(buffer: body))
    }

    private static func values(_ text: String?) throws(ConsoleProblem) -> [String: String] {
        do throws(ControlError) {
            return Dictionary(try QueryText.parse(text).map { ($0.name, $0.value) }) { first, _ in first }
        } catch {
            throw ConsoleProblem(error)
        }
    }

    /// Returns the value of a cookie (RFC 6265, section 5.4); nil without one.
    func cookie(_ name: String) -> String? {
        for pair in (headers[.cookie] ?? "").split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0].trimmingPrefix(while: { $0 == " " }) == name { return String(parts[1]) }
        }
        return nil
    }
}

extension Response {
    /// Creates a redirection to a path of the console that the browser requests with GET.
    static func seeOther(_ path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }
}

extension HTTPField.Name {
    /// Marks the requests that a page makes by itself.
    fileprivate static let consoleRefresh = HTTPField.Name("X-Console-Refresh")!
}
