internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

extension OIDCAuthenticator: LogoutReceiver {
    var receivesLogouts: Bool { keys.rules.settings.logoutAudience != nil }

    func verifyLogout(_ token: Secret) async -> LogoutOutcome {
        let now = context.clocks.wall()
        guard let (result, current) = await keys.verify({ $0.verifyLogout(token, at: now) }) else {
            return .unavailable(.busy)
        }
        if case .unknownKey(let issued) = result { return current.outcome(ofTokenIssued: issued).forLogout }
        return seenLogouts.outcome(of: result, at: now)
    }
}

extension OIDCFileAuthenticator: LogoutReceiver {
    var receivesLogouts: Bool { rules.settings.logoutAudience != nil }

    func verifyLogout(_ token: Secret) async -> LogoutOutcome {
        let now = context.clocks.wall()
        return seenLogouts.outcome(of: verifier.withLock { $0 }.verifyLogout(token, at: now), at: now)
    }
}

extension SeenLogouts {
    /// Returns the outcome of a token, which is accepted once.
    fileprivate func outcome(of result: TokenVerifier.LogoutResult, at now: WallTime) -> LogoutOutcome {
        switch result {
        case .accepted(let logout): insert(logout, at: now) ? .accepted(logout.announced) : .rejected(.revoked)
        case .rejected(.libcrypto): .unavailable(.failed)
        case .rejected(let fault): .rejected(fault.reason)
        case .foreign: .notMine
        case .unknownKey: .rejected(.untrusted)
        }
    }
}

extension AuthenticationOutcome {
    /// The same outcome of a logout token whose key is unknown.
    fileprivate var forLogout: LogoutOutcome {
        switch self {
        case .unavailable(let reason): .unavailable(reason)
        case .rejected(let reason): .rejected(reason)
        case .accepted, .notMine: .rejected(.untrusted)
        }
    }
}
