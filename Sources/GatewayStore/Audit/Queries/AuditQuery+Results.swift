internal import GatewayCore

extension AuditQuery {
    /// The words accepted for `result`: the results of all record kinds, and the two words for shadow rejections.
    public static let resultWords: [String] = {
        let words =
            CallResult.allCases.map(\.rawValue) + RejectionCode.allCases.map(\.rawValue)
            + AccountEndReason.allCases.map(\.rawValue) + JournalEntry.Repair.allCases.map(\.rawValue)
            + [wouldReject, wouldLimit] + otherWords
        return Set(words).sorted()
    }()

    /// Results of records that other code writes: a failed operator change, several coalesced rejections, failed
    /// logins, and the start and end of a ban.
    private static let otherWords = ["failed", "several", "login-failed", "banned", "ban-ended"]
}
