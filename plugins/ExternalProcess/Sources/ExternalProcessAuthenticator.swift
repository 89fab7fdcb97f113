public import GatewayCore
internal import Logging

/// The authenticator that verifies credentials by querying the external process.
public final class ExternalProcessAuthenticator: Authenticator {
    private let settings: ExternalProcessPlugin.Settings
    private let context: PluginContext
    private let connections: ProcessConnections

    init(
        _ settings: ExternalProcessPlugin.Settings, context: PluginContext, backOff: Backoff = Backoff()
    ) async throws {
        self.settings = settings
        self.context = context
        connections = try await ProcessConnections(settings, context: context, backOff: backOff)
    }

    /// Verifies a credential. Resumes on the caller's executor after the process's response or the deadline.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard settings.delegation.kinds.contains(credential.kind) else { return .notMine }
        guard let request = Request(credential, peer: peer) else { return unsendable(.malformed) }
        var expected: UserName?
        if case .password(let login, _) = credential {
            expected = context.names.unambiguousCanonical(login)
            // A name without canonical form cannot become an identity, whatever the process responds.
            if expected == nil { return unsendable(.unmapped) }
        }
        switch await connections.query(.verification(request)) {
        case .verdict(.notMine): return .notMine
        case .verdict(.rejected(let reason)): return .rejected(reason)
        case .verdict(.unavailable(let reason)), .unavailable(let reason): return .unavailable(reason)
        case .verdict(.accepted(let user, let groups)): return accepted(user, groups, expected: expected)
        // The pool replies to a verification with a verdict or with a failure.
        case .status: return .unavailable(.failed)
        }
    }

    private func accepted(
        _ name: String, _ groups: Set<GroupName>, expected: UserName?
    ) -> AuthenticationOutcome {
        let user = context.names.unambiguousCanonical(LoginName(name))
        if let expected, user != expected {
            context.logger.error(
                "Process accepted another user than the one logging in; login failed",
                metadata: ["user": "\(expected)", "accepted": "\(name.prefix(256))"])
            return .unavailable(.failed)
        }
        guard let user else { return .rejected(.unmapped) }
        return .accepted(Identity(user: user, groups: groups, authenticator: ExternalProcessPlugin.name))
    }

    /// Returns the result for a credential that cannot be sent to the process. Another authenticator may accept it.
    private func unsendable(_ reason: InvalidCredentialReason) -> AuthenticationOutcome {
        context.isLastOfItsKind ? .rejected(reason) : .notMine
    }
}
