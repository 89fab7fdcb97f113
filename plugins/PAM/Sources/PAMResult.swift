internal import GatewayCore

/// The decision on a worker's results. `PAMCode.meaning` classifies each code. Only this type accepts or rejects a
/// login by those classes.
enum PAMResult: Sendable, Hashable {
    /// The account is valid, and for a login the password too.
    case granted(name: String, groups: Set<GroupName>)
    /// The login or account is rejected. `isKnown` is false if the system has no such account.
    case refused(InvalidCredentialReason, isKnown: Bool)
    /// The results allow no decision.
    case undecided

    /// Decides on the results. A login needs two successful codes, an account check needs one.
    init(_ workerResult: WorkerResult, of operation: WorkerRequest.Operation, minimumUID: UInt32) {
        let isKnown = workerResult.entry != .absent
        // The modules were not called because of the uid. A login is rejected like one with a wrong password.
        if workerResult.authentication == nil, workerResult.account == nil,
            case .found(let account) = workerResult.entry,
            Self.isTooLow(account, minimumUID)
        {
            self = .refused(operation == .login ? .wrong : .disabled, isKnown: true)
            return
        }
        switch operation {
        case .login:
            switch workerResult.authenticationMeaning {
            case .good: break
            // Before the password is verified, every rejection must look like a wrong password.
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
        case .accountStatus:
            self =
                workerResult.authentication == nil
                ? Self.accountStatus(of: workerResult, minimumUID: minimumUID) : .undecided
            return
        }
        switch workerResult.accountMeaning {
        case .good: self = Self.verdict(on: workerResult, minimumUID: minimumUID)
        case .bad(.wrong), .bad(.denied):
            self = .refused(workerResult.facts.contains(.expired) ? .expired : .disabled, isKnown: isKnown)
        case .bad(.expired): self = .refused(.expired, isKnown: isKnown)
        case .unknown, nil: self = .undecided
        }
    }

    /// Decides on an account check. A rejection removes the account's devices and sessions, so it must concern the
    /// account itself. Modules report temporary conditions (a lockout, a machine closed to logins, an unreachable
    /// directory) with the codes of a wrong password or user, and Debian's common stack reports an expired account with
    /// them too. The shadow file tells these apart; without its word they are undecided. The account database decides
    /// whether the user exists.
    private static func accountStatus(of workerResult: WorkerResult, minimumUID: UInt32) -> PAMResult {
        let meaning = workerResult.account?.meaning
        switch meaning {
        case .good, .bad: if workerResult.entry == .absent { return .refused(.wrong, isKnown: false) }
        case .unknown, nil: return .undecided
        }
        let hasEnded = !workerResult.facts.isDisjoint(with: meaning == .good ? .locked : [.locked, .expired])
        if hasEnded, workerResult.entry != .unreadable { return .refused(.expired, isKnown: true) }
        return switch meaning {
        case .good: verdict(on: workerResult, minimumUID: minimumUID)
        case .bad(.denied): .refused(.disabled, isKnown: true)
        case .bad(.expired): .refused(.expired, isKnown: true)
        case .bad(.wrong), .unknown, nil: .undecided
        }
    }

    private static func verdict(on workerResult: WorkerResult, minimumUID: UInt32) -> PAMResult {
        switch workerResult.entry {
        // Without an entry the uid cannot be compared with the minimum.
        case .absent: .refused(.disabled, isKnown: false)
        case .unreadable: .undecided
        case .found(let account):
            isTooLow(account, minimumUID)
                ? .refused(.disabled, isKnown: true) : .granted(name: workerResult.user, groups: account.groups)
        }
    }

    private static func isTooLow(_ account: WorkerResult.Account, _ minimumUID: UInt32) -> Bool {
        account.uid == 0 || account.uid < minimumUID
    }
}

extension WorkerResult {
    /// The class of the result of `pam_authenticate`.
    fileprivate var authenticationMeaning: PAMCode.Meaning? {
        authentication?.isSystemError == true && facts.contains(.commandInAuth)
            ? .bad(.wrong) : authentication?.meaning
    }

    /// The class of the result of `pam_acct_mgmt` at a login.
    fileprivate var accountMeaning: PAMCode.Meaning? {
        account?.isSystemError == true && facts.contains(.commandInAccount) ? .bad(.denied) : account?.meaning
    }
}
