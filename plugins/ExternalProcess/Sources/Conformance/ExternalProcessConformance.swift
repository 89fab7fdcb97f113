public import GatewayCore
internal import NIOCore

/// Plays the gateway at a process, and then everything that a gateway never does: whether an implementation of the
/// protocol keeps to it, and stays up.
///
/// The run logs nobody in: its credentials are random, and an implementation that accepts one has failed. It makes some
/// dozens of failed logins with user names that begin with `conformance-` or are no names at all.
public struct ExternalProcessConformance: Sendable {
    /// A password that the process should accept.
    public struct Login: Sendable {
        let user: String
        let password: Secret

        /// A login that must succeed, as the gateway would hand it over.
        public init(user: String, password: Secret) {
            self.user = user
            self.password = password
        }
    }

    let socket: String
    let patience: TimeAmount
    let login: Login?

    /// A run against the process that listens at a path.
    ///
    /// - Parameters:
    ///   - patience: how long the process may take for each answer.
    ///   - login: tried too, where there is one.
    public init(socket: String, patience: Duration = .seconds(5), login: Login? = nil) {
        self.socket = socket
        self.patience = TimeAmount(patience)
        self.login = login
    }

    /// Makes all checks, one after the other, and hands over the result of each as soon as it is there.
    ///
    /// - Returns: whether all were good.
    public func run(report: (ConformanceResult) -> Void) async -> Bool {
        var isGood = true
        func note(_ check: String, _ fault: String?) {
            if fault != nil { isGood = false }
            report(ConformanceResult(check: check, fault: fault))
        }
        let kinds: [CredentialKind]
        do throws(ConformanceFault) {
            let hello = try await connected { connection throws(ConformanceFault) in try await connection.greet() }
            guard !hello.takes.isEmpty else { throw ConformanceFault("takes no kind of credential that is known") }
            kinds = hello.takes.sorted { $0.rawValue < $1.rawValue }
            note("answers the hello", nil)
        } catch {
            // Without a hello no check would say anything.
            note("answers the hello", error.reason)
            return false
        }
        for check in Self.dialogueChecks + Self.framingChecks + Self.contentChecks {
            do throws(ConformanceFault) {
                try await check.body(self, kinds)
                // Whatever was done to one connection, the next one is served.
                try await refusal(of: ConformanceRequest(kinds[0].rawValue))
                note(check.name, nil)
            } catch {
                note(check.name, error.reason)
            }
        }
        return isGood
    }
}

extension ExternalProcessConformance {
    /// One check: what it is called, and what it does with a process that takes these kinds, of which there is at least
    /// one.
    struct Check: Sendable {
        let name: String
        let body: @Sendable (ExternalProcessConformance, [CredentialKind]) async throws(ConformanceFault) -> Void

        init(
            _ name: String,
            _ body:
                @escaping @Sendable (ExternalProcessConformance, [CredentialKind]) async throws(ConformanceFault) ->
                Void
        ) {
            self.name = name
            self.body = body
        }
    }

    /// Lends a fresh connection.
    func connected<Answer: Sendable>(
        _ body: (inout ConformanceConnection) async throws(ConformanceFault) -> Answer
    ) async throws(ConformanceFault) -> Answer {
        try await ConformanceConnection.open(socket, patience: patience, body)
    }

    /// Makes the request on a connection of its own; it must be refused properly.
    func refusal(of request: ConformanceRequest) async throws(ConformanceFault) {
        try await connected { connection throws(ConformanceFault) in
            try await connection.greet()
            await connection.send(json: request.json)
            try await connection.refusal(of: request.id)
        }
    }
}
