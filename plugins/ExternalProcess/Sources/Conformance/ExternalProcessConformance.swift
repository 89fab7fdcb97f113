internal import GatewayCore
public import GatewaySupport
internal import NIOCore

/// A conformance test for implementations of the protocol: it acts as a gateway, then sends input that no gateway
/// sends, and checks that the process follows the protocol and keeps running.
///
/// Except for a login that the caller gives, no login of the test succeeds: its credentials are random, and a process
/// that accepts one fails. It causes some dozens of failed logins, with user names that begin with `conformance-` or are
/// invalid.
public struct ExternalProcessConformance: Sendable {
    /// A login that the process should accept.
    public struct Login: Sendable {
        let user: String
        let password: Secret

        /// Creates a login that must succeed.
        public init(user: String, password: Secret) {
            self.user = user
            self.password = password
        }
    }

    /// An account whose status the process should report.
    public struct Account: Sendable {
        let user: String
        let status: AccountStatus

        /// Reads `alice=disabled`: a name and a status of the protocol, other than `unavailable`.
        public init?(_ text: String) {
            let parts = text.split(separator: "=", omittingEmptySubsequences: false)
            guard parts.count >= 2, let word = parts.last else { return nil }
            user = parts.dropLast().joined(separator: "=")
            switch word {
            case "valid": status = .valid(groups: [])
            case "absent": status = .ended(.wrong)
            case "expired": status = .ended(.expired)
            case "disabled": status = .ended(.disabled)
            default: return nil
            }
            if user.isEmpty { return nil }
        }
    }

    let socket: String
    let maximumWait: TimeAmount
    let login: Login?
    let accounts: [Account]

    /// Creates a run against the process that listens on the socket.
    ///
    /// - Parameters:
    ///   - maximumWait: the longest wait for each response.
    ///   - login: a login to try; nil for none.
    ///   - accounts: accounts whose status is queried. A process of version 1 reports none and fails.
    public init(
        socket: String, maximumWait: Duration = .seconds(5), login: Login? = nil, accounts: [Account] = []
    ) {
        self.socket = socket
        self.maximumWait = TimeAmount(maximumWait)
        self.login = login
        self.accounts = accounts
    }

    /// Runs all checks one after another and reports each result at once.
    ///
    /// - Returns: whether all checks passed.
    public func run(report: (ConformanceResult) -> Void) async -> Bool {
        var isGood = true
        func record(_ check: String, _ fault: String?) {
            if fault != nil { isGood = false }
            report(ConformanceResult(check: check, fault: fault))
        }
        let kinds: [CredentialKind]
        var checks = Self.dialogueChecks + Self.framingChecks + Self.contentChecks
        do throws(ConformanceError) {
            let hello = try await connected { connection throws(ConformanceError) in
                try await connection.exchangeHellos()
            }
            guard !hello.takes.isEmpty else { throw ConformanceError("accepts no known kind of credential") }
            kinds = hello.takes.sorted { $0.rawValue < $1.rawValue }
            record("responds to the hello with version \(hello.version)", nil)
            if let login { checks.append(Self.acceptance(of: login)) }
            if hello.reportsStatus || !accounts.isEmpty { checks += Self.statusChecks }
        } catch {
            // Without a hello the other checks are meaningless.
            record("responds to the hello", error.reason)
            return false
        }
        for check in checks {
            do throws(ConformanceError) {
                try await check.body(self, kinds)
                // After each check the process must still serve a new connection.
                try await expectRejection(of: ConformanceRequest(kinds[0].rawValue))
                record(check.name, nil)
            } catch {
                record(check.name, error.reason)
            }
        }
        return isGood
    }
}

extension ExternalProcessConformance {
    /// A named check. The closure receives the kinds that the process accepts, at least one.
    struct Check: Sendable {
        let name: String
        let body: @Sendable (ExternalProcessConformance, [CredentialKind]) async throws(ConformanceError) -> Void

        init(
            _ name: String,
            _ body:
                @escaping @Sendable (ExternalProcessConformance, [CredentialKind]) async throws(ConformanceError) ->
                Void
        ) {
            self.name = name
            self.body = body
        }
    }

    /// Runs the closure with a new connection.
    func connected<Output: Sendable>(
        _ body: (inout ConformanceConnection) async throws(ConformanceError) -> Output
    ) async throws(ConformanceError) -> Output {
        try await ConformanceConnection.open(socket, maximumWait: maximumWait, body)
    }

    /// Sends the request on a connection of its own; fails if the verdict is malformed or accepts the credential.
    func expectRejection(of request: ConformanceRequest) async throws(ConformanceError) {
        try await connected { connection throws(ConformanceError) in
            try await connection.exchangeHellos()
            await connection.send(json: request.json)
            try await connection.expectRejection(of: request.id)
        }
    }
}

/// The result of one check of a conformance run.
public struct ConformanceResult: Sendable, Hashable, CustomStringConvertible {
    /// The name of the check.
    public let check: String
    /// How the process violates the protocol; nil if the check passed.
    public let fault: String?

    /// Whether the check passed. For tests of a process.
    public var hasPassed: Bool { fault == nil }

    /// `ok      hello`, or `FAILED  hello: why`.
    public var description: String { fault.map { "FAILED  \(check): \($0)" } ?? "ok      \(check)" }
}

/// The reason why a check failed. Checks throw it and the run reports it.
struct ConformanceError: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
