/// What the gateway guarantees to operators and users beyond its backend's holes, and the tests that show it. `ShownClaimsTests` sees to
/// it that each of the tests exists, and writes the second table of `Tests/CLAIMS.md`.
struct Guarantee: Sendable {
    /// One sentence.
    let text: String
    /// The tests: the suite's file, a point, the function.
    let tests: [String]

    init(_ text: String, _ tests: String...) {
        self.text = text
        self.tests = tests
    }

    static let all = journal + ledger + accounts + calls + operators

    private static let journal = [
        Guarantee(
            "A damaged index of the journal ends nothing, is made anew, and no answer is another than that of the segments",
            "DamagedIndexTests.damagedFiles", "DamagedIndexTests.hiddenDamage", "DamagedIndexTests.powerFailures",
            "RecordedHistoryTests.damagedWhileRunning", "AuditTests.damagedIndex"),
        Guarantee(
            "`audit verify` writes nothing; an index that differs is reported, and discarded when the operator says so",
            "DamagedIndexTests.comparedWhileUsed", "AuditTests.verify"),
        Guarantee(
            "A segment that retention removes while it is read is no error", "VanishingSegmentTests.updating",
            "VanishingSegmentTests.querying", "VanishingSegmentTests.verifying", "VanishingSegmentTests.recovering",
            "VanishingSegmentTests.following", "VanishingSegmentTests.keyedSends"),
        Guarantee(
            "A journal that is deleted, cut or exchanged while it is written is noticed before the next call is acknowledged",
            "JournalDamageTests.open", "JournalDamageTests.load", "JournalDamageTests.idle",
            "JournalDamageTests.closedSegments", "JournalDamageTests.deleted"),
        Guarantee(
            "A journal that is wiped, older or another one at a start is a finding, by the checkpoint in the ledger",
            "JournalLedgerTests.wiped", "JournalLedgerTests.olderCopy", "JournalLedgerTests.exchanged"),
        Guarantee(
            "Retention does not believe a wrong clock, and removes a tenth at a time",
            "JournalRetentionTests.wrongClock", "JournalRetentionTests.jumpingClock", "JournalRetentionTests.atAStart",
            "JournalRetentionTests.byAge", "RetentionClockTests.disagreeing"),
        Guarantee(
            "Failed logins and bans are on record, and a flood of them fills no disk", "FailedLoginRecorderTests.alike",
            "FailedLoginRecorderTests.bans", "FailedLoginRecorderTests.flood", "LoginRecordTests.fail2ban"),
        Guarantee(
            "Refused calls are counted in a bounded log", "RejectionLogTests.million", "RejectionLogTests.rhythm"),
        Guarantee(
            "`audit list` filters by every word of the journal, and says where it finds nothing",
            "AuditQueryTests.options", "AuditQueryTests.times", "AuditQueryTests.nothing"),
    ]

    private static let ledger = [
        Guarantee(
            "A damaged ledger ends no process and is not used without a word", "DamagedLedgerTests.damage",
            "DamagedLedgerTests.values", "LedgerHealthTests.integrity", "LedgerFileTests.damaged"),
        Guarantee(
            "A ledger that was in use and is empty or gone is not taken for a new one", "DamagedLedgerTests.lost"),
        Guarantee(
            "Where the ledger cannot be written registrations and tokens are refused with 503, and nothing is half done",
            "LedgerHealthTests.unwritable", "UnknownOutcomeTests.unwritable", "TokenCallTests.unwritableLedger",
            "SessionRegisterTests.unwritable"),
        Guarantee(
            "A restored ledger brings back no session that was ended, and no registration that was deleted",
            "RestoredLedgerTests.endedSession", "RestoredLedgerTests.journaled", "LedgerFileTests.restored"),
        Guarantee(
            "A registration whose outcome is unknown stays within reach of revocation",
            "UnknownRegistrationTests.killed", "UnknownRegistrationTests.brokenOff", "UnknownOutcomeTests.inDoubt",
            "AttemptTests.first"),
        Guarantee(
            "A deletion that the backend does not confirm is repeated", "AttemptTests.unconfirmed",
            "UnknownRegistrationTests.hubOutage"),
        Guarantee(
            "An imported registration is unconfirmed until its device registers again, and is deleted in time",
            "UnconfirmedTests.expiry", "UnconfirmedTests.ownershipTransfer", "UnconfirmedTests.pauses"),
        Guarantee(
            "Two accounts that know a handle do not lock its owner out", "LedgerChangeTests.quarrel",
            "LedgerChangeTests.quarrelOfRevoked"),
    ]

    private static let accounts = [
        Guarantee(
            "A group that is lost is lost for tokens within a second", "TokenCallTests.lostGroup",
            "AccountMonitorTests.groups", "AccountRecheckTests.lostGroups", "ChangedAccountTests.losesGroup"),
        Guarantee(
            "What accounts without status were granted ends with time", "AccountRecheckTests.oldGrants",
            "TokenCallTests.sessionWithoutStatus", "RecheckedAccountTests.withoutStatus"),
        Guarantee(
            "A token that ends while it registers leaves no registration without an account",
            "EndedTokenRaceTests.race", "RevokedRegistrationTests.endedBeforeTheRecord",
            "RevokedRegistrationTests.endedBeforeTheAnswer"),
        Guarantee(
            "A flood of wrong passwords does not delay a revocation", "ChangedAccountTests.underFlood",
            "BusyThreadTests.reads"),
        Guarantee(
            "A slow call or deletion holds up no revocation", "AccountMonitorTests.slowSweeps", "AttemptTests.ahead"),
        Guarantee(
            "A clock that jumps ahead and back brings no revoked token back", "SessionRegisterTests.clockJumps",
            "ConfirmedTimeTests.ahead"),
        Guarantee(
            "What PAM modules start or change ends with their worker", "ChangedWorkerTests.daemons",
            "ChangedWorkerTests.killed", "ChangedWorkerTests.misleading", "LeftProcessTests.ends"),
        Guarantee(
            "Token keys that are not random bytes are refused", "WeakSecretTests.text", "WeakSecretTests.patterns",
            "WeakSecretTests.words", "WeakSecretTests.random"),
    ]

    private static let calls = [
        Guarantee(
            "An HTTP/2 preface that is followed by garbage ends no process",
            "ReentrantReadTests.invalidFramesWithinTheFlushOfGOAWAYDoNotAddASecondHTTP2Handler",
            "ListenerHTTP2Tests.aConnectionThatClosesAfterInvalidFramesDoesNotAffectOthers"),
        Guarantee(
            "Requests that are not complete hold no more memory than is meant for them",
            "RequestMemoryTests.manyConnections", "RequestMemoryTests.heldStreams", "RequestMemoryTests.wholeRequests"),
        Guarantee(
            "Calls in flight are bounded per user and address, and others are served",
            "CallerConcurrencyLimitTests.user",
            "CallerConcurrencyLimitTests.address", "CallerConcurrencyLimitTests.ends"),
        Guarantee(
            "Refused sends push nobody's idempotency key out", "RejectedIdempotentSendTests.million",
            "RejectedIdempotentSendTests.refusedByLimit", "RejectedIdempotentSendTests.together"),
        Guarantee(
            "A listed proxy's word on http decides on every listener", "ForwardingTests.localListener",
            "ProxyProtocolTests.localListener"),
        Guarantee(
            "A TLS client without a common protocol gets the alert for that", "ListenerTLSTests.noCommonProtocol",
            "ClientHelloTests.nothingTraps"),
        Guarantee(
            "A gateway that refuses calls for want of a place is not ready", "ReadinessTests.overload",
            "StoreHealthCheckTests.hanging"),
    ]

    private static let operators = [
        Guarantee(
            "Commands at once lose no change of a users or key file", "ConcurrentEditTests.users",
            "ConcurrentEditTests.keys", "UsersFileLockTests.serial"),
        Guarantee(
            "Commands of root leave nothing that the service cannot open", "StoresOwnerTests.reading",
            "StoresOwnerTests.changing", "DamagedIndexTests.ownership"),
        Guarantee(
            "`explain` says whether an account is known, with a gateway and without", "ExplainTests.unknownUser",
            "ExplainTests.loginsOnly", "AccountLookupTests.undecided"),
        Guarantee(
            "Faults of libraries are said in the gateway's words", "MessageTests.portInUse", "MessageTests.libraries",
            "MessageTests.missingFiles"),
        Guarantee(
            "Certificates that end and targets that are down have metrics and alerts",
            "CertificateFilesTests.replacing", "DashboardTests.names", "DashboardTests.alerts"),
    ]
}
