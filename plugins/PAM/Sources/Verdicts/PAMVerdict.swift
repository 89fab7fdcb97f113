internal import GatewayCore

/// What a worker's findings amount to. The only place that turns codes into yes or no.
enum PAMVerdict: Sendable, Hashable {
    /// The account is good, and for a login the password too.
    case granted(name: String, groups: Set<GroupName>)
    /// Bad. `isKnown` is false where the system knows no such account.
    case refused(RejectionReason, isKnown: Bool)
    /// Neither.
    case undecided

    /// The verdict: a login needs two successes, a look at the account one.
    init(_ findings: WorkerFindings, of operation: WorkerRequest.Operation, minimumUID: UInt32) {
        let isKnown = findings.entry != .absent
        // The modules were not asked at all. A login gets what a wrong password gets.
        if findings.authentication == nil, findings.account == nil, case .found(let account) = findings.entry,
            Self.isTooLow(account, minimumUID)
        {
            self = .refused(operation == .login ? .wrong : .disabled, isKnown: true)
            return
        }
        switch operation {
        case .login:
            switch findings.authentication?.meaning {
            case .good: break
            // What a stack says before the password was found right must not differ from a wrong password.
            case .bad(.wrong), .bad(.denied):
                self = .refused(.wrong, isKnown: isKnown)
                return
            case .bad(.expired):
                self = .refused(.expired, isKnown: isKnown)
                return
            case .unknown, nil:
                self = .undecided
                return
            }
        case .standing:
            self = findings.authentication == nil ? Self.standing(of: findings, minimumUID: minimumUID) : .undecided
            return
        }
        switch findings.account?.meaning {
        case .good: self = Self.verdict(on: findings, minimumUID: minimumUID)
        case .bad(.wrong), .bad(.denied): self = .refused(.disabled, isKnown: isKnown)
        case .bad(.expired): self = .refused(.expired, isKnown: isKnown)
        case .unknown, nil: self = .undecided
        }
    }

    /// How an account stands. A no takes devices and sessions away, so that it must be one about the account itself. A lock that
    /// passes, a machine that lets nobody in for now, a directory that is away: these have modules say what stands for a wrong
    /// password or user. Whether there is such a user, the account database knows best.
    private static func standing(of findings: WorkerFindings, minimumUID: UInt32) -> PAMVerdict {
        switch findings.account?.meaning {
        case .good, .bad: if findings.entry == .absent { return .refused(.wrong, isKnown: false) }
        case .unknown, nil: return .undecided
        }
        return switch findings.account?.meaning {
        case .good: verdict(on: findings, minimumUID: minimumUID)
        case .bad(.denied): .refused(.disabled, isKnown: true)
        case .bad(.expired): .refused(.expired, isKnown: true)
        case .bad(.wrong), .unknown, nil: .undecided
        }
    }

    private static func verdict(on findings: WorkerFindings, minimumUID: UInt32) -> PAMVerdict {
        switch findings.entry {
        // Without a uid nobody can say that it is high enough.
        case .absent: .refused(.disabled, isKnown: false)
        case .unreadable: .undecided
        case .found(let account):
            isTooLow(account, minimumUID)
                ? .refused(.disabled, isKnown: true) : .granted(name: findings.user, groups: account.groups)
        }
    }

    private static func isTooLow(_ account: WorkerFindings.Account, _ minimumUID: UInt32) -> Bool {
        account.uid == 0 || account.uid < minimumUID
    }
}
