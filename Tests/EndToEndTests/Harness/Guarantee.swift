/// A property that the gateway guarantees to operators and users besides the mitigated vulnerabilities, with the tests
/// that show it. `ShownClaimsTests` checks that each test exists and writes the second table of `Tests/CLAIMS.md`.
struct Guarantee: Sendable {
    /// The guarantee as one sentence.
    let text: String
    /// The tests as `File.function`, where `File` is the name of the suite's source file.
    let tests: [String]

    init(_ text: String, _ tests: String...) {
        self.text = text
        self.tests = tests
    }

    static let all = journal + ledger + accounts + calls + operators

    private static let journal = [
        Guarantee(
            "The gateway rebuilds a damaged journal index, and each query returns the content of the segments",
            "DamagedIndexTests.damagedFiles", "DamagedIndexTests.comparison", "DamagedIndexTests.damagedWhileOpen",
            "RecordedHistoryTests.damagedWhileRunning", "AuditTests.damagedIndex"),
        Guarantee(
            "`audit verify` writes nothing; it reports an index that differs and discards it only on request",
            "DamagedIndexTests.discarding", "RecordedHistoryTests.foreignJournal", "AuditTests.verify",
            "AuditTests.unreadableIndex"),
        Guarantee(
            "A reader tolerates that retention removes a segment", "VanishingSegmentTests.updating",
            "VanishingSegmentTests.querying", "VanishingSegmentTests.verifying", "VanishingSegmentTests.recovering",
            "VanishingSegmentTests.following", "VanishingSegmentTests.keyedSends"),
        Guarantee(
            "The gateway detects a deleted, truncated or replaced journal before it acknowledges the next call",
            "JournalDamageTests.open", "JournalDamageTests.load", "JournalDamageTests.idle",
            "JournalDamageTests.closedSegments", "JournalDamageTests.deleted"),
        Guarantee(
            "The checkpoint in the ledger reveals at start that the journal was emptied, restored or replaced",
            "JournalLedgerTests.wiped", "JournalLedgerTests.olderCopy", "JournalLedgerTests.exchanged"),
        Guarantee(
            "Retention tolerates a wrong clock and deletes at most a tenth at a time",
            "JournalRetentionTests.wrongClock", "JournalRetentionTests.jumpingClock", "JournalRetentionTests.atAStart",
            "JournalRetentionTests.byAge", "RetentionClockTests.disagreeing"),
        Guarantee(
            "The journal records failed logins and bans in bounded space", "FailedLoginRecorderTests.alike",
            "FailedLoginRecorderTests.bans", "FailedLoginRecorderTests.flood", "LoginRecordTests.fail2ban"),
        Guarantee(
            "A log of bounded size counts rejected calls", "RejectionLogTests.million", "RejectionLogTests.rhythm"),
        Guarantee(
            "`audit list` filters by each value in the journal and reports an empty result",
            "AuditQueryTests.options", "AuditQueryTests.times", "AuditQueryTests.nothing"),
    ]

    private static let ledger = [
        Guarantee(
            "The gateway survives a damaged ledger and reports it", "DamagedLedgerTests.damage",
            "DamagedLedgerTests.values", "LedgerHealthTests.integrity", "LedgerFileTests.damaged"),
        Guarantee(
            "The gateway does not mistake an emptied or missing ledger for a new one", "DamagedLedgerTests.lost"),
        Guarantee(
            "While the ledger is not writable, the gateway rejects registrations and tokens with 503",
            "LedgerHealthTests.unwritable", "UnknownOutcomeTests.unwritable", "TokenCallTests.unwritableLedger",
            "SessionRegisterTests.unwritable"),
        Guarantee(
            "A restored ledger revives neither a revoked session nor a deleted registration",
            "RestoredLedgerTests.endedSession", "RestoredLedgerTests.journaled", "LedgerFileTests.restored"),
        Guarantee(
            "A registration with an unknown outcome can still be revoked",
            "UnknownRegistrationTests.killed", "UnknownRegistrationTests.brokenOff", "UnknownOutcomeTests.inDoubt",
            "AttemptTests.first"),
        Guarantee(
            "The gateway retries a deletion that the backend does not confirm", "AttemptTests.unconfirmed",
            "UnknownRegistrationTests.hubOutage"),
        Guarantee(
            "An imported registration is unconfirmed until its device registers again, and expires otherwise",
            "UnconfirmedTests.expiry", "UnconfirmedTests.ownershipTransfer", "UnconfirmedTests.pauses"),
        Guarantee(
            "Two accounts that claim the same device handle cannot lock its owner out", "LedgerChangeTests.quarrel",
            "LedgerChangeTests.quarrelOfRevoked"),
    ]

    private static let accounts = [
        Guarantee(
            "A token loses a revoked group within a second", "TokenCallTests.lostGroup",
            "AccountMonitorTests.groups", "AccountRecheckTests.lostGroups", "ChangedAccountTests.losesGroup"),
        Guarantee(
            "Grants of accounts without a status expire", "AccountRecheckTests.oldGrants",
            "TokenCallTests.sessionWithoutStatus", "RecheckedAccountTests.withoutStatus"),
        Guarantee(
            "An account that a service ends loses its sessions and devices, and a service that fails ends none",
            "ServiceAccountStatusTests.forwardAuth", "ServiceAccountStatusTests.externalProcess",
            "ServiceAccountStatusTests.brake"),
        Guarantee(
            "A token that is revoked during a registration leaves no registration without an account",
            "EndedTokenRaceTests.race", "RevokedRegistrationTests.endedBeforeTheRecord",
            "RevokedRegistrationTests.endedBeforeTheAnswer"),
        Guarantee(
            "Users files that differ between nodes revoke nobody", "SharedAccountTests.differingFiles",
            "SharedAccountTests.word", "SharedAccountTests.removedAuthenticator", "SharedRecheckTests.differingFiles"),
        Guarantee(
            "A flood of wrong passwords does not delay a revocation", "ChangedAccountTests.underFlood",
            "BusyThreadTests.reads"),
        Guarantee(
            "A slow call or deletion does not delay a revocation", "AccountMonitorTests.slowSweeps",
            "AttemptTests.ahead"),
        Guarantee(
            "A clock that jumps forward and back does not revive a revoked token", "SessionRegisterTests.clockJumps",
            "ConfirmedTimeTests.ahead"),
        Guarantee(
            "Processes and state of a PAM module end with its worker process", "ChangedWorkerTests.daemons",
            "ChangedWorkerTests.killed", "ChangedWorkerTests.misleading", "LeftProcessTests.ends"),
        Guarantee(
            "The gateway rejects token keys that are not random bytes", "WeakSecretTests.text",
            "WeakSecretTests.patterns",
            "WeakSecretTests.words", "WeakSecretTests.random"),
        Guarantee(
            "A throttled caller learns from no cached or pending result that a password is correct",
            "LoginThrottleTests.cachedAcceptanceElsewhere", "LoginThrottleTests.cachedAcceptanceOfKnownPair",
            "LoginThrottleTests.cachedAcceptanceOverLimit", "LoginThrottleTests.pendingVerification"),
    ]

    private static let calls = [
        Guarantee(
            "The position of a sender is in no record, no log message and no request to the backend",
            "GeofencingTests.within", "ServedFenceTests.served"),
        Guarantee(
            "The gateway survives an HTTP/2 preface that is followed by invalid bytes",
            "ReentrantReadTests.invalidFramesWithinTheFlushOfGOAWAYDoNotAddASecondHTTP2Handler",
            "ListenerHTTP2Tests.aConnectionThatClosesAfterInvalidFramesDoesNotAffectOthers"),
        Guarantee(
            "Incomplete requests occupy a bounded amount of memory",
            "RequestMemoryTests.manyConnections", "RequestMemoryTests.heldStreams", "RequestMemoryTests.wholeRequests",
            "RequestMemoryTests.addresses", "HTTP2MemoryTests.waitingFrames", "HTTP2MemoryTests.headsBeforeBodies"),
        Guarantee(
            "One address with much input delays the calls of others by a bounded time",
            "PipelinedTurnTests.otherConnection", "PipelinedTurnTests.otherNetwork", "TurnSchedulerTests.time",
            "HandshakeTurnTests.turns", "FrameTurnTests.otherAddress"),
        Guarantee(
            "Login names without a canonical form occupy a bounded amount of memory", "PasswordCacheTests.unmappedNames"
        ),
        Guarantee(
            "One account that logs in from any number of addresses makes no other user a stranger to the login throttle",
            "ThrottleTableTests.addressesOfOneUser"),
        Guarantee(
            "Connections to the admin listener cannot use up the file descriptors of calls",
            "AdminConnectionTests.bounded"),
        Guarantee(
            "Calls in flight are limited per user and per address, and other callers are served",
            "CallerConcurrencyLimitTests.user",
            "CallerConcurrencyLimitTests.address", "CallerConcurrencyLimitTests.ends"),
        Guarantee(
            "No send with a key is made before the earlier ones are known, also those of a user who was revoked",
            "IdempotentReplayTests.restoration", "IdempotentReplayTests.unreadable", "IdempotentSendReaderTests.parts",
            "KeyedSendRestartTests.revoked"),
        Guarantee(
            "Rejected sends evict no idempotency key", "RejectedIdempotentSendTests.million",
            "RejectedIdempotentSendTests.refusedByLimit", "RejectedIdempotentSendTests.together"),
        Guarantee(
            "The scheme that a trusted proxy reports applies on each listener", "ForwardingTests.localListener",
            "ProxyProtocolTests.localListener"),
        Guarantee(
            "A TLS client without a common protocol receives the `no_application_protocol` alert",
            "ListenerTLSTests.noCommonProtocol",
            "ClientHelloTests.nothingTraps"),
        Guarantee(
            "A gateway that rejects calls because of overload is not ready", "ReadinessTests.overload",
            "StoreHealthCheckTests.hanging"),
    ]

    private static let operators = [
        Guarantee(
            "Concurrent commands lose no change to a users file or key file", "ConcurrentEditTests.users",
            "ConcurrentEditTests.keys", "UsersFileLockTests.serial"),
        Guarantee(
            "Commands that root runs leave no file that the service cannot open", "StoresOwnerTests.reading",
            "StoresOwnerTests.changing", "DamagedIndexTests.ownership"),
        Guarantee(
            "`explain` reports whether an account is known, with and without a running gateway",
            "ExplainTests.unknownUser",
            "ExplainTests.loginsOnly", "AccountLookupTests.undecided"),
        Guarantee(
            "Messages of the gateway replace errors of libraries", "MessageTests.portInUse", "MessageTests.libraries",
            "MessageTests.missingFiles", "ConnectionFailureTests.libraries", "ServiceFailureTests.libraries"),
        Guarantee(
            "Expiring certificates and failed targets have metrics and alerts",
            "CertificateFilesTests.replacing", "DashboardTests.names", "DashboardTests.alerts"),
    ]
}
