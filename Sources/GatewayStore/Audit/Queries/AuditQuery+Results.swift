internal import GatewayCore

extension AuditQuery {
    /// The words that `result` takes: those that records of any kind have, and the two for what a trial would have refused.
    public static let resultWords: [String] = {
        let words =
            CallResult.allCases.map(\.rawValue) + RefusalCode.allCases.map(\.rawValue)
            + AccountEnd.allCases.map(\.rawValue) + JournalEntry.Mending.allCases.map(\.rawValue)
            + [wouldRefuse, wouldLimit] + otherWords
        return Set(words).sorted()
    }()

    /// Words of records that are made elsewhere: an operator's change that was not made, refusals of several kinds together, failed
    /// logins, and peers or users that were kept out for a while.
    private static let otherWords = ["failed", "several", "login-failed", "banned", "ban-ended"]
}
