import Gateway
import GatewayCore
import GatewayStore
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayServer

@Suite("Accounts that end")
struct AccountWatchTests {
    private static let alice = UserName(canonical: "alice")!  // In the alphabet of names.
    private static let bob = UserName(canonical: "bob")!  // In the alphabet of names.

    /// Stores on disk, and everything between them and a list of accounts.
    private final class Bench: Sendable {
        let files: TestFiles
        let clock = ManualClock()
        let ledger: SQLiteLedger
        let sessions: SessionRegister
        let journal = MemoryJournal()
        let accounts = Accounts()
        let watch: AccountWatch
        let revocation: UserRevocation

        init(_ files: TestFiles) throws {
            self.files = files
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ledger = try SQLiteLedger(file: files.path + "/ledger.sqlite")
            sessions = try SessionRegister(ledger, clocks: clock.clocks)
            revocation = UserRevocation(
                sessions: sessions, verdicts: VerdictCache(clocks: clock.clocks),
                throttle: LoginThrottle(clocks: clock.clocks), sends: SendMemory(clocks: clock.clocks),
                journal: journal,
                sweeper: RegistrationSweeper(ledger: ledger, logger: logger), logger: logger)
            watch = AccountWatch(
                [("list", accounts)], sessions: sessions, revocation: revocation, clocks: clock.clocks, logger: logger)
        }

        func login(_ user: UserName) async throws -> SessionID {
            let now = clock.clocks.wall()
            let session = Session(
                id: SessionID(random: (.random(in: 0 ... .max), 0)), user: user, login: LoginName(user.text),
                authenticator: "list", device: nil, began: now, ends: WallTime(seconds: now.seconds + 86_400),
                renewed: now)
            let started = try await sessions.start(session, since: sessions.epoch)
            #expect(started)
            return session.id
        }
    }

    /// A list that says what the test says.
    private final class Accounts: AccountList {
        private let state = Mutex<(hashes: [UserName: String], expiries: [UserName: WallTime])>(([:], [:]))
        let timesAsked = Atomic(0)

        func list(_ hashes: [UserName: String], expiries: [UserName: WallTime] = [:]) {
            state.withLock { $0 = (hashes, expiries) }
        }

        var files: [String] { [] }
        func reload() async -> [ConfigurationProblem] { [] }
        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
        func standing(of login: LoginName) async -> AccountStanding {
            state.withLock { $0.hashes.keys.contains { $0.text == login.text } } ? .good(groups: []) : .ended(.wrong)
        }

        func accounts(at now: WallTime) -> AccountSnapshot {
            timesAsked.add(1, ordering: .relaxed)
            return state.withLock { state in
                let open = state.hashes.filter { state.expiries[$0.key].map { $0 > now } ?? true }
                return AccountSnapshot(
                    marks: open.compactMapValues { AccountMark(ofHash: $0) },
                    holdsUntil: open.keys.compactMap { state.expiries[$0] }.min())
            }
        }
    }

    @Test("Removed, with another password, expired: each loses its session once, and is recorded")
    func ends() async throws {
        let files = try TestFiles()
        let bench = try Bench(files)
        let soon = WallTime(seconds: bench.clock.clocks.wall().seconds + 60)
        bench.accounts.list([Self.alice: "a", Self.bob: "b"], expiries: [Self.alice: soon])
        await bench.watch.look()
        let (first, second) = (try await bench.login(Self.alice), try await bench.login(Self.bob))
        // Nothing has changed, and nobody is asked.
        await bench.watch.look()
        #expect(bench.accounts.timesAsked.load(ordering: .relaxed) == 1)
        #expect(bench.journal.records.isEmpty)

        bench.accounts.list([Self.alice: "a", Self.bob: "other"], expiries: [Self.alice: soon])
        await bench.watch.listsHaveChanged()
        await bench.watch.look()
        #expect(bench.sessions.session(second) == nil)
        #expect(bench.sessions.session(first) != nil)
        #expect(bench.journal.records.map(\.result) == ["password-changed"])

        bench.clock.advance(by: .seconds(60))
        await bench.watch.look()
        #expect(bench.sessions.session(first) == nil)
        #expect(bench.journal.records.map(\.result) == ["password-changed", "account-ended"])
        #expect(bench.journal.records.map(\.kind) == [.operator, .operator])
        #expect(bench.journal.records.map(\.facts?.user) == [Self.bob, Self.alice])
        await bench.watch.look()
        #expect(bench.journal.records.count == 2)
    }

    @Test("Who was removed while nothing ran has lost everything before the first call, and comes back with nothing")
    func restart() async throws {
        let files = try TestFiles()
        do {
            let bench = try Bench(files)
            bench.accounts.list([Self.alice: "a", Self.bob: "b"])
            await bench.watch.look()
            _ = try await bench.login(Self.alice)
            _ = try await bench.login(Self.bob)
            try bench.ledger.close()
        }
        let bench = try Bench(files)
        bench.accounts.list([Self.bob: "b"])
        #expect(bench.sessions.allSessions.count == 2)
        await bench.watch.look()
        #expect(bench.sessions.allSessions.map(\.user) == [Self.bob])
        #expect(bench.journal.records.map(\.result) == ["account-ended"])
        bench.accounts.list([Self.alice: "a", Self.bob: "b"])
        await bench.watch.listsHaveChanged()
        await bench.watch.look()
        #expect(bench.sessions.sessions(of: Self.alice).isEmpty)
        #expect(bench.journal.records.count == 1)
    }

    @Test("What the ledger cannot write is tried again at the next look")
    func again() async throws {
        let files = try TestFiles()
        let bench = try Bench(files)
        bench.accounts.list([Self.alice: "a"])
        await bench.watch.look()
        let session = try await bench.login(Self.alice)
        try bench.ledger.close()
        bench.accounts.list([Self.bob: "b"])
        await bench.watch.listsHaveChanged()
        await bench.watch.look()
        // In memory it counts already.
        #expect(bench.sessions.session(session) == nil)
        let asked = bench.accounts.timesAsked.load(ordering: .relaxed)
        await bench.watch.look()
        #expect(bench.accounts.timesAsked.load(ordering: .relaxed) == asked + 1)
    }

    @Test("The review ends the sessions of accounts that have ended, and leaves alone whom nobody can judge")
    func review() async throws {
        let files = try TestFiles()
        let bench = try Bench(files)
        let (standing, gone) = (try await bench.login(Self.alice), try await bench.login(Self.bob))
        let unknown = Mutex(true)
        let chain = AuthenticatorChain([
            .init(
                name: "list", takes: [.password],
                authenticator: Standing { user in
                    if unknown.withLock({ $0 }) { return .unknown(.busy) }
                    return user == "bob" ? .ended(.expired) : .good(groups: [])
                })
        ])
        let review = AccountReview(
            sessions: bench.sessions, chain: Current(chain), revocation: bench.revocation,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await review.review()
        #expect(bench.sessions.allSessions.count == 2)
        unknown.withLock { $0 = false }
        await review.review()
        #expect(bench.sessions.session(standing) != nil)
        #expect(bench.sessions.session(gone) == nil)
        #expect(bench.journal.records.map(\.facts?.user) == [Self.bob])
        // An authenticator that is configured no more vouches for nobody.
        let other = AccountReview(
            sessions: bench.sessions, chain: Current(AuthenticatorChain([])), revocation: bench.revocation,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await other.review()
        #expect(bench.sessions.allSessions.isEmpty)
    }

    @Test(
        "The review takes back the registrations of accounts that have ended, as long as their authenticator is configured"
    )
    func reviewOfRegistrations() async throws {
        let files = try TestFiles()
        let bench = try Bench(files)
        let ids = [RegistrationID("1-1-1")!, RegistrationID("2-2-2")!]
        for (number, user) in [Self.alice, Self.bob].enumerated() {
            let handle = try HandleRules().handle(String(repeating: "A", count: 30) + "\(number)0", of: .apns)
            let account = Account(user: user, login: LoginName("\(user)'s login"), authenticator: "list")
            let claim = try await bench.ledger.begin(
                .update(user: user, label: ids[number], handle: handle, account: account),
                now: bench.clock.clocks.wall())
            try await bench.ledger.finish(
                claim, with: .registered(ids[number], replacing: nil), now: bench.clock.clocks.wall())
        }
        let chain = AuthenticatorChain([
            .init(
                name: "list", takes: [.password],
                authenticator: Standing { $0 == "bob's login" ? .ended(.disabled) : .good(groups: []) })
        ])
        for (chain, doomed) in [(AuthenticatorChain([]), []), (chain, [ids[1]])] {
            let review = AccountReview(
                sessions: bench.sessions, chain: Current(chain), revocation: bench.revocation,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            await review.review()
            #expect(try await bench.ledger.doomed(limit: 10) == doomed)
        }
        #expect(bench.journal.records.map(\.facts?.user) == [Self.bob])
        #expect(bench.journal.records.map(\.result) == ["account-ended"])
    }

    private struct Standing: AccountAuthenticator {
        let answer: @Sendable (String) -> AccountStanding

        init(_ answer: @escaping @Sendable (String) -> AccountStanding) { self.answer = answer }

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
        func standing(of login: LoginName) async -> AccountStanding { answer(login.text) }
    }

    @Test("What cannot be swept is left alone for longer and longer, and what is marked anew is taken up at once")
    func sweeper() async throws {
        let ledger = ScriptedLedger()
        let ids = [RegistrationID("1-1-1")!, RegistrationID("2-2-2")!]
        ledger.doom(ids)
        let sweeper = RegistrationSweeper(
            ledger: ledger, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var waits = SweepWaits()
        let start = ContinuousClock.now
        let swept = Mutex<[RegistrationID]>([])
        func look(after seconds: Int) async -> [RegistrationID] {
            swept.withLock { $0 = [] }
            await sweeper.work(through: &waits, now: start + .seconds(seconds)) { id in
                swept.withLock { $0.append(id) }
                return id == ids[1]
            }
            return swept.withLock { $0.sorted { $0.text < $1.text } }
        }
        #expect(await look(after: 0) == ids)
        #expect(await look(after: 0) == [ids[1]])
        #expect(await look(after: 1).contains(ids[0]))
        #expect(await !look(after: 2).contains(ids[0]))
        #expect(await look(after: 3).contains(ids[0]))
        #expect(await !look(after: 6).contains(ids[0]))
        #expect(await look(after: 7).contains(ids[0]))
        #expect(waits.count == 1)
        ledger.doom([])
        #expect(await look(after: 100).isEmpty)
        #expect(waits.count == 0)
    }
}
