import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayConfiguration
@testable import GatewayOperations

/// A ledger and sessions on disk, with an account monitor and a scripted list of accounts.
final class AccountFixture: Sendable {
    static let alice = UserName(canonical: "alice")!  // A valid name.
    static let bob = UserName(canonical: "bob")!  // A valid name.

    let files: TestFiles
    let clock = ManualClock()
    let ledger: StoredLedger
    let sessions: SessionRegister
    let journal = MemoryJournal()
    let accounts = ScriptedAccountList()
    let watch: AccountMonitor
    let texts: StoredSecureTexts
    let revocation: UserRevocation
    let massEnds = MassEnds()

    /// - Parameter lists: The watched lists; nil for `accounts` alone.
    init(_ files: TestFiles, lists: [ScopedAccountList]? = nil) throws {
        self.files = files
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ledger = try StoredLedger(file: files.path + "/ledger.sqlite")
        sessions = try SessionRegister(ledger, clocks: clock.clocks)
        texts = try StoredSecureTexts(file: files.path + "/ledger.sqlite.texts")
        revocation = UserRevocation(
            sessions: sessions, passwordCache: PasswordCache(clocks: clock.clocks),
            throttle: LoginThrottle(clocks: clock.clocks), sends: IdempotencyStore(clocks: clock.clocks),
            keyedSends: nil, texts: texts, journal: journal,
            sweeper: RegistrationSweeper(ledger: ledger, logger: logger), logger: logger)
        watch = AccountMonitor(
            lists ?? [ScopedAccountList(name: "list", list: accounts)], revocation: revocation, massEnds: massEnds,
            clocks: clock.clocks, logger: logger)
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

/// A list of accounts that the test sets.
final class ScriptedAccountList: AccountList {
    private let state = Mutex<(hashes: [UserName: String], expiries: [UserName: WallTime])>(([:], [:]))
    private let groups = Mutex<[UserName: Set<GroupName>]>([:])
    private let closed = Mutex<Set<UserName>>([])
    private let isDeclaredEmpty = Atomic(false)
    let verificationCount = Atomic(0)

    func list(_ hashes: [UserName: String], expiries: [UserName: WallTime] = [:]) {
        state.withLock { $0 = (hashes, expiries) }
    }

    func put(_ groups: [UserName: Set<GroupName>]) { self.groups.withLock { $0 = groups } }

    /// Makes the list one that says that it has no accounts.
    func declareEmpty() {
        list([:])
        isDeclaredEmpty.store(true, ordering: .relaxed)
    }

    /// Sets the listed accounts that may not log in.
    func close(_ users: Set<UserName>) { closed.withLock { $0 = users } }

    var files: [String] { [] }
    func reload() async -> [ConfigurationProblem] { [] }
    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
    func status(of login: LoginName) async -> AccountStatus {
        state.withLock { $0.hashes.keys.contains { $0.text == login.text } } ? .valid(groups: []) : .ended(.wrong)
    }

    func accounts(at now: WallTime) -> AccountSnapshot {
        verificationCount.add(1, ordering: .relaxed)
        return state.withLock { state in
            let open = state.hashes.filter { state.expiries[$0.key].map { $0 > now } ?? true }
            return AccountSnapshot(
                fingerprints: open.compactMapValues { AccountFingerprint(ofHash: $0) }, groups: groups.withLock(\.self),
                closed: closed.withLock(\.self),
                validUntil: open.keys.compactMap { state.expiries[$0] }.min(),
                isDeclaredEmpty: isDeclaredEmpty.load(ordering: .relaxed))
        }
    }
}
