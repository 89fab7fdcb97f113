internal import GatewayCore
internal import GatewaySupport

/// The decision on a worker's findings. Only this type accepts or rejects a login by them.
enum LDAPResult: Sendable, Hashable {
    /// The account is valid, and for a login the password too.
    case granted(groups: Set<GroupName>)
    /// The login or account is rejected. `isKnown` is false if the directory has no such account.
    case refused(InvalidCredentialReason, isKnown: Bool)
    /// The findings allow no decision.
    case undecided(Doubt)

    /// The reason why no decision is possible, for the log.
    enum Doubt: String, Sendable, Hashable {
        /// More than one entry has the user's name.
        case ambiguousUser = "more than one entry found"
        /// The entry shows no user attribute: it has none, or the gateway's account may not read it.
        case unreadableName = "no value of the user attribute found"
        /// The server did not verify the password.
        case bind = "bind not decided by the server"
    }

    /// Decides on findings.
    ///
    /// - Parameter isUser: whether a value of the user attribute names the user who was asked about.
    init(
        _ findings: DirectoryFindings, of operation: DirectoryRequest.Operation, now: WallTime, isUser: (String) -> Bool
    ) {
        switch findings.entries {
        case 0: self = .refused(.wrong, isKnown: false)
        case 1:
            if findings.names.isEmpty {
                self = .undecided(.unreadableName)
            } else if !findings.names.contains(where: isUser) {
                self = .refused(.wrong, isKnown: true)
            } else {
                switch operation {
                case .login: self = Self.login(findings, now)
                case .accountStatus: self = Self.status(findings, now)
                }
            }
        default: self = .undecided(.ambiguousUser)
        }
    }

    private static func login(_ findings: DirectoryFindings, _ now: WallTime) -> LDAPResult {
        switch findings.bind?.meaning {
        case .unknown, nil: return .undecided(.bind)
        // The attributes say nothing before the password is verified: a rejection must look like a wrong password.
        case .wrong: return .refused(.wrong, isKnown: true)
        case .disabled: return .refused(.disabled, isKnown: true)
        case .expired: return .refused(.expired, isKnown: true)
        case .accepted: break
        }
        switch findings.attributes.state(at: now) {
        case .disabled: return .refused(.disabled, isKnown: true)
        case .expired: return .refused(.expired, isKnown: true)
        case .usable: return findings.isUsable ? .granted(groups: findings.groups) : .refused(.disabled, isKnown: true)
        }
    }

    /// Decides on an account check. An account that an administrator disabled is reported as expired: `disabled` would
    /// keep its devices, because other authenticators use it for conditions that pass by themselves.
    private static func status(_ findings: DirectoryFindings, _ now: WallTime) -> LDAPResult {
        findings.attributes.state(at: now) == .usable && findings.isUsable
            ? .granted(groups: findings.groups) : .refused(.expired, isKnown: true)
    }
}
