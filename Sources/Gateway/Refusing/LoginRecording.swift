internal import GatewayCore
internal import Logging
internal import Synchronization

/// Writes failed logins down, and for whom logins are refused for a while: in the journal, and in the log in the same words.
///
/// Coalesced by name and address: the first at once, then one record a minute with its `count`, and no more than 120 records a minute,
/// the rest being one with the result `several`. So nobody can fill the disk, or push other records out of the journal, by guessing.
///
/// Called when the answer is about to be made, after the delay of refused passwords, and alike for a name that is unknown and for
/// a wrong password: whoever measures the answer learns nothing of the record. Shared by all loops; never waits for the disk.
final class LoginRecording: Sendable {
    /// The results of the records.
    enum Result: String {
        /// A credential was rejected.
        case failed = "login-failed"
        /// Passwords of a user, from an address, or of a user from an address are refused unseen, after too many wrong ones.
        case banned
        /// They are judged again.
        case banEnded = "ban-ended"

        fileprivate var message: Logger.Message {
            switch self {
            case .failed: "A login failed"
            case .banned: "Logins are refused for a while"
            case .banEnded: "Logins are judged again"
            }
        }

        fileprivate var level: Logger.Level { self == .failed ? .notice : .warning }
    }

    private struct Kind: Hashable {
        let result: Result
        let name: String?
        let address: Peer.Address?

        init(_ result: Result, name: String?, address: Peer.Address?) {
            (self.result, self.name, self.address) = (result, name, address)
        }

        init(_ result: Result, _ debtor: LoginThrottle.Debtor) {
            self.init(result, name: debtor.user?.text, address: debtor.address)
        }
    }

    private struct State {
        var records = Coalescer<Kind, JournalRecord>(
            .init(period: LoginRecording.minute, most: LoginRecording.mostInAMinute, window: LoginRecording.minute))
        var bans: [LoginThrottle.Debtor: Ban] = [:]
    }

    private struct Ban {
        /// The record of the last refusal.
        var record: JournalRecord
        var refused = 0
        var until: Int64
        var lastRefused: Int64
    }

    private static let minute: Int64 = 60_000_000_000
    /// How many records are written in a minute, the one of the rest not counted.
    static let mostInAMinute = 120
    /// How many bans are watched for their end at a time.
    static let mostBans = 1024
    /// How much of an unverified name is kept, in bytes.
    static let longestName = 64

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

    /// Takes a refusal, if it is that of a login.
    ///
    /// - Returns: whether it was one, and the log has its line, or will.
    func note(_ refusal: Refusal, _ logger: Logger) -> Bool {
        guard let facts = refusal.facts, facts.user == nil else { return false }
        switch (refusal.code, refusal.extra) {
        case (.credentialsRejected, _), (.identityUnmapped, _):
            write(noteFailure(facts, reason: refusal.detail), logger)
        case (.rateLimited, .limit(RefusalFloor.limitName, _)?):
            // The password was wrong; only the delay of the answer had no room.
            write(noteFailure(facts, reason: RejectionReason.wrong.rawValue), logger)
        case (.rateLimited, .limit(let name, let seconds)?) where LoginThrottle.names.contains(name):
            write(noteBan(facts, by: name, seconds), logger)
        case _: return false
        }
        return true
    }

    /// Writes what is due, the ends of bans included; everything where there will be no later.
    func settle(all: Bool, _ logger: Logger) {
        let now = clocks.monotonic()
        // The throttle is asked outside of the lock: a call that is refused meanwhile keeps its ban alive below.
        let quiet = state.withLock { $0.bans.filter { Self.mayHaveEnded($1, now) } }
        let ended = quiet.filter { throttle.wait(of: $0.key) == 0 }
        let records = state.withLock { state in
            var entries: [Coalescer<Kind, JournalRecord>.Entry] = []
            for (debtor, ban) in ended where state.bans[debtor]?.lastRefused == ban.lastRefused {
                state.bans[debtor] = nil
                var record = ban.record
                record.result = Result.banEnded.rawValue
                record.reason = "\(ban.refused) refused"
                entries += state.records.add(record, of: Kind(.banEnded, debtor), now: now)
            }
            return Coalescer.records(entries + state.records.settle(now: now, all: all))
        }
        write(records, logger)
    }

    /// A ban has ended when nobody was refused for it for a minute, so that one who tries on and on is one ban; or at once where it
    /// was lifted, which `wait(of:)` tells before its time.
    private static func mayHaveEnded(_ ban: Ban, _ now: MonotonicInstant) -> Bool {
        now.nanoseconds < ban.until || now.nanoseconds - ban.lastRefused >= minute
    }

    private func noteFailure(_ facts: CallFacts, reason: String) -> [JournalRecord] {
        let record = record(.failed, facts, reason: reason)
        let kind = Kind(.failed, name: record.facts?.attempted?.text, address: facts.peer.limitKey)
        let now = clocks.monotonic()
        return state.withLock { Coalescer.records($0.records.add(record, of: kind, now: now)) }
    }

    private func noteBan(_ facts: CallFacts, by name: String, _ seconds: Int) -> [JournalRecord] {
        let user = facts.attempted.flatMap { names.canonical(names.login($0).text) }
        guard let debtor = LoginThrottle.Debtor(name, user: user, address: facts.peer.limitKey) else { return [] }
        var record = record(.banned, facts, reason: "\(seconds) s")
        record.facts?.rule = name
        let now = clocks.monotonic()
        return state.withLock { state in
            if state.bans[debtor] != nil || state.bans.count < Self.mostBans {
                let isNew = state.bans[debtor] == nil
                var ban = state.bans[debtor] ?? Ban(record: record, until: 0, lastRefused: 0)
                ban.record = record
                ban.refused += 1
                ban.until = now.nanoseconds + Int64(seconds) * 1_000_000_000
                ban.lastRefused = now.nanoseconds
                state.bans[debtor] = ban
                // Of a ban that goes on, its end says how many it has refused.
                if !isNew { return [] }
            }
            return Coalescer.records(state.records.add(record, of: Kind(.banned, debtor), now: now))
        }
    }

    private func record(_ result: Result, _ facts: CallFacts, reason: String) -> JournalRecord {
        var facts = facts
        facts.attempted = facts.attempted.map { PresentedName(Self.sanitized($0.text)) }
        return JournalRecord(.refusal, facts: facts, result: result.rawValue, reason: reason)
    }

    /// The beginning of a name that anybody may have made up, without control and format characters, which move a terminal's cursor or
    /// turn its text round.
    static func sanitized(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars.prefix(longestName) {
            let shown: Unicode.Scalar =
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned: "\u{FFFD}"
                default: scalar
                }
            guard text.utf8.count + String(shown).utf8.count <= longestName else { break }
            text.unicodeScalars.append(shown)
        }
        return text
    }

    private func write(_ records: [JournalRecord], _ logger: Logger) {
        for record in records {
            journal.note(record)
            guard let facts = record.facts, let result = record.result.flatMap(Result.init) else {
                let count = record.count ?? 1
                logger.warning("More logins failed or were refused", metadata: ["count": "\(count)"])
                continue
            }
            logger.log(
                level: result.level, result.message,
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
