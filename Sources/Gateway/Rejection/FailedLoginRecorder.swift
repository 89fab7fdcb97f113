internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import Synchronization

/// Records failed logins, logins that no authenticator could verify, and login bans in the journal, and logs the failed
/// ones and the bans with the same data.
///
/// Coalesced by name, address, authenticator and reason: the first one at once, then one record a minute with its
/// `count`. At most 120 records a minute are written of each result, and a summary record with the result `several`. Guessing
/// passwords therefore cannot fill the disk or displace other records, and many failed logins do not hide a ban.
///
/// Called just before the response is created, after the delay of rejected passwords, and equally for an unknown name
/// and a wrong password, so that the response time reveals nothing. Shared by all event loops; never waits for the
/// disk.
final class FailedLoginRecorder: Sendable {
    /// The results in the records.
    enum Result: String, CaseIterable {
        /// A credential was rejected.
        case failed = "login-failed"
        /// A credential could not be verified. `RejectionLog` logs it as a fault of the gateway.
        case undecided = "login-undecided"
        /// After too many wrong passwords, further passwords of a user, an address, or a pair of both are rejected
        /// without verification.
        case banned
        /// Passwords are verified again after a ban.
        case banEnded = "ban-ended"

        fileprivate var message: Logger.Message {
            switch self {
            case .failed: "Login failed"
            case .undecided: "Login not verified"
            case .banned: "Login ban started"
            case .banEnded: "Login ban ended"
            }
        }

        /// Nil for a result that this type does not log.
        fileprivate var level: Logger.Level? {
            switch self {
            case .failed: .notice
            case .undecided: nil
            case .banned, .banEnded: .warning
            }
        }
    }

    private struct Kind: OwnedKey {
        typealias Owner = SoleOwner

        let result: Result
        let name: String?
        let address: Peer.Address?
        var authenticator: PluginName?
        var reason: String?

        /// The kind of failed or undecided logins.
        init(_ result: Result, _ record: JournalRecord) {
            self.result = result
            name = record.facts?.attempted?.text
            address = record.facts?.peer.limitKey
            authenticator = record.facts?.authenticator
            reason = record.reason
        }

        /// The kind of bans.
        init(_ result: Result, _ subject: LoginThrottle.Subject) {
            self.result = result
            name = subject.user?.text
            address = subject.address
        }
    }

    private struct State {
        private var records: [Result: Coalescer<Kind, JournalRecord>] = [:]
        var bans: [LoginThrottle.Subject: Ban] = [:]

        /// Adds a record and returns those to write now.
        mutating func add(_ record: JournalRecord, of kind: Kind, now: MonotonicInstant) -> [JournalRecord] {
            let bounds = Coalescer<Kind, JournalRecord>.Bounds(
                period: FailedLoginRecorder.minute, maximum: FailedLoginRecorder.maximumPerMinute,
                window: FailedLoginRecorder.minute)
            return records[kind.result, default: Coalescer(bounds)].add(record, of: kind, now: now).map(\.record)
        }

        /// Returns the records that are due.
        mutating func flush(now: MonotonicInstant, all: Bool) -> [JournalRecord] {
            Result.allCases.flatMap { records[$0]?.flush(now: now, all: all).map(\.record) ?? [] }
        }
    }

    private struct Ban {
        /// The facts that the rejections have in common.
        var record: JournalRecord
        var rejections = 0
        var until: Int64
        var lastRejection: Int64
    }

    private static let minute: Int64 = 60_000_000_000
    /// The maximum number of records of one result in a minute, excluding the summary record.
    static let maximumPerMinute = 120
    /// The maximum number of bans whose end is tracked.
    static let maximumBans = 1024
    /// The maximum length of a recorded unverified name, in bytes.
    static let maximumNameLength = 64

    private let journal: any Journal
    private let clocks: Clocks
    private let throttle: LoginThrottle
    private let names: NameRules
    private let state = Mutex(State())

    init(journal: any Journal, clocks: Clocks, throttle: LoginThrottle, names: NameRules) {
        self.journal = journal
        self.clocks = clocks
        self.throttle = throttle
        self.names = names
    }

    /// Records a rejection if it concerns a login.
    ///
    /// - Returns: Whether the rejection concerns a login. If so, this method has logged it or will log it coalesced.
    func record(_ rejection: Rejection, _ logger: Logger) -> Bool {
        guard let facts = rejection.facts, facts.user == nil else { return false }
        switch (rejection.code, rejection.extra) {
        case (.credentialsRejected, _), (.identityUnmapped, _):
            write(record(.failed, facts, reason: rejection.detail), logger)
        case (.rateLimited, .limit(FailedLoginDelay.limitName, _)?):
            // The password was wrong; only the delay of its rejection had no capacity left.
            write(record(.failed, facts, reason: InvalidCredentialReason.wrong.rawValue), logger)
        case (.authenticatorUnavailable, _) where facts.action != .providerLogout,
            (.overloaded, _) where facts.authenticator != nil:
            write(record(.undecided, facts, reason: rejection.detail), logger)
            return false
        case (.rateLimited, .limit(let name, let seconds)?) where LoginThrottle.names.contains(name):
            write(recordBan(facts, by: name, seconds), logger)
        case _: return false
        }
        return true
    }

    /// Writes the records that are due, including the ends of bans; all of them if this is the last call.
    func flush(all: Bool, _ logger: Logger) {
        let now = clocks.monotonic()
        // The throttle is queried outside of the lock. A ban whose call is rejected meanwhile is kept below.
        let candidates = state.withLock { $0.bans.filter { Self.mayHaveEnded($1, now) } }
        let ended = candidates.filter { throttle.wait(of: $0.key) == 0 }
        let records = state.withLock { state in
            var records: [JournalRecord] = []
            for (subject, ban) in ended where state.bans[subject]?.lastRejection == ban.lastRejection {
                state.bans[subject] = nil
                var record = ban.record
                record.result = Result.banEnded.rawValue
                record.reason = "\(ban.rejections) rejected"
                records += state.add(record, of: Kind(.banEnded, subject), now: now)
            }
            return records + state.flush(now: now, all: all)
        }
        write(records, logger)
    }

    /// Returns whether a ban may have ended: nothing was rejected because of it for one minute, or it may have been
    /// lifted early, which `wait(of:)` then confirms. Because of the minute, persistent attempts are one ban.
    private static func mayHaveEnded(_ ban: Ban, _ now: MonotonicInstant) -> Bool {
        now.nanoseconds < ban.until || now.nanoseconds - ban.lastRejection >= minute
    }

    private func record(_ result: Result, _ facts: CallFacts, reason: String) -> [JournalRecord] {
        let record = Self.record(result, facts, reason: reason)
        let now = clocks.monotonic()
        return state.withLock { $0.add(record, of: Kind(result, record), now: now) }
    }

    private func recordBan(_ facts: CallFacts, by name: String, _ seconds: Int) -> [JournalRecord] {
        let user = facts.attempted.flatMap { names.canonical(names.login($0)) }
        guard let subject = LoginThrottle.Subject(name, user: user, address: facts.peer.limitKey) else { return [] }
        var record = Self.record(.banned, facts, reason: "\(seconds) s")
        record.facts?.rule = name
        let now = clocks.monotonic()
        return state.withLock { state in
            if state.bans[subject] != nil || state.bans.count < Self.maximumBans {
                let isNew = state.bans[subject] == nil
                var ban = state.bans[subject] ?? Ban(record: record, until: 0, lastRejection: 0)
                if !isNew { ban.record.merge(record) }
                ban.rejections += 1
                ban.until = now.nanoseconds + Int64(seconds) * 1_000_000_000
                ban.lastRejection = now.nanoseconds
                state.bans[subject] = ban
                // The record of a ban's end contains the number of its rejections.
                if !isNew { return [] }
            }
            return state.add(record, of: Kind(.banned, subject), now: now)
        }
    }

    private static func record(_ result: Result, _ facts: CallFacts, reason: String) -> JournalRecord {
        var facts = facts
        facts.attempted = facts.attempted.map { PresentedName(sanitized($0.text)) }
        return JournalRecord(.rejection, facts: facts, result: result.rawValue, reason: reason)
    }

    /// Returns the beginning of an unverified name. Control and format characters, which could manipulate a terminal,
    /// are replaced.
    static func sanitized(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars.prefix(maximumNameLength) {
            let shown: Unicode.Scalar =
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: "\u{FFFD}"
                default: scalar
                }
            guard text.utf8.count + String(shown).utf8.count <= maximumNameLength else { break }
            text.unicodeScalars.append(shown)
        }
        return text
    }

    private func write(_ records: [JournalRecord], _ logger: Logger) {
        for record in records {
            journal.append(record)
            guard let facts = record.facts, let result = record.result.flatMap(Result.init) else {
                let count = record.count ?? 1
                logger.warning("Further logins failed or were rejected", metadata: ["count": "\(count)"])
                continue
            }
            guard let level = result.level else { continue }
            logger.log(
                level: level, result.message,
                metadata: [
                    "attempted": "\(facts.attempted?.text ?? "-")",
                    "authenticator": "\(facts.authenticator?.text ?? "-")",
                    "call": "\(facts.call)",
                    "count": "\(record.count ?? 1)",
                    "limit": "\(facts.rule ?? "-")",
                    "peer": "\(facts.peer.text)",
                    "reason": "\(record.reason ?? "-")",
                ])
        }
    }
}
