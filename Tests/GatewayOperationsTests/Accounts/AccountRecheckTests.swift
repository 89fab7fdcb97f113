import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayOperations

@Suite("Account recheck")
struct AccountRecheckTests {
    private typealias Bench = AccountFixture

    /// An authenticator that returns the account statuses which the test sets.
    private final class Keeper: AccountAuthenticator {
        private let answers = Mutex<[String: [AccountStatus]]>([:])

        func answer(_ answer: AccountStatus, for logins: String...) {
            for login in logins { self.answer([answer], for: login) }
        }

        /// Returns the statuses in order, and the last one from then on.
        func answer(_ list: [AccountStatus], for login: String) { answers.withLock { $0[login] = list } }

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
        func status(of login: LoginName) async -> AccountStatus {
            answers.withLock { answers in
                guard let list = answers[login.text], let next = list.first else { return .valid(groups: []) }
                if list.count > 1 { answers[login.text]?.removeFirst() }
                return next
            }
        }
    }

    private let files: TestFiles
    private let bench: Bench
    private let keeper = Keeper()
    private let chain: HotSwappable<AuthenticatorChain>
    private var review: AccountRecheck

    init() throws {
        files = try TestFiles()
        bench = try Bench(files)
        chain = HotSwappable(
            AuthenticatorChain([.init(name: "list", credentialKinds: [.password], authenticator: keeper)]))
        review = AccountRecheck(
            chain: chain, revocation: bench.revocation,
            massEnds: bench.massEnds, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        review.pause = { _ in false }
    }

    /// Registers a device. The login name of the account equals the user name unless one is given; nil is no account.
    private func register(_ number: Int, _ user: UserName) async throws -> RegistrationID {
        try await register(number, user, login: user.text)
    }

    private func register(_ number: Int, _ user: UserName, login: String?) async throws -> RegistrationID {
        let id = RegistrationID("\(number)-1-1")!  // A valid id.
        let handle = try HandleRules().handle(String(repeating: "A", count: 30) + "\(10 + number)", of: .apns)
        let account = login.map { Account(user: user, login: LoginName($0), authenticator: "list") }
        let now = bench.clock.clocks.wall()
        let claim = try await bench.ledger.begin(
            .update(user: user, label: id, handle: handle, account: account), now: now)
        try await bench.ledger.finish(claim, with: .registered(id, replacing: nil), now: now)
        return id
    }

    @Test(
        "Tokens lose a group that the recheck no longer finds, and an unknown status changes nothing"
    )
    func lostGroups() async throws {
        let (dispatch, sales) = (GroupName("dispatch")!, GroupName("sales")!)
        let session = try await bench.login(Bench.alice)
        let now = bench.clock.clocks.wall()
        let token = TokenReference(id: "t", session: session, issued: now, expires: now)
        var suspects: Set<Account> = []
        #expect(bench.sessions.groups(behind: token, of: Bench.alice) == nil)
        for (status, groups) in [
            (AccountStatus.valid(groups: [dispatch, sales]), Set([dispatch, sales])),
            (.valid(groups: [sales]), [sales]), (.unknown(.busy), [sales]), (.valid(groups: [dispatch]), [dispatch]),
        ] {
            keeper.answer(status, for: "alice")
            await review.recheckAccounts(&suspects)
            #expect(bench.sessions.groups(behind: token, of: Bench.alice) == groups)
        }
        #expect(bench.journal.records.map(\.result) == ["groups-lost", "groups-lost"])
        #expect(bench.sessions.session(session) != nil)
        // Without a session and a device, no groups of the user are stored.
        _ = try await bench.sessions.delete(session, of: Bench.alice)
        await review.recheckAccounts(&suspects)
        #expect(
            bench.sessions.groups(
                behind: TokenReference(id: "o", session: nil, issued: now, expires: now), of: Bench.alice) == nil)
    }

    @Test("Grants of accounts without a status expire by both clocks, and other grants do not")
    func oldGrants() async throws {
        chain.value = AuthenticatorChain([
            .init(name: "list", credentialKinds: [.password], authenticator: ScriptedAuthenticator(always: .notMine))
        ])
        let old = try await bench.login(Bench.bob)
        let device = try await register(1, Bench.bob)
        let withoutAccount = try await register(2, Bench.bob, login: nil)
        // The wall clock jumps forward by 60 days and back. No grant ages by that.
        let wall = bench.clock.clocks.wall()
        bench.clock.setWall(WallTime(seconds: wall.seconds + 60 * 86_400))
        await review.expireOldGrants()
        bench.clock.setWall(wall)
        await review.expireOldGrants()
        #expect(bench.sessions.session(old) != nil)
        #expect(try await pendingDeletion().isEmpty)

        bench.clock.advance(by: .seconds(43_200))
        let fresh = try await bench.login(Bench.alice)
        bench.clock.advance(by: .seconds(43_199))
        await review.expireOldGrants()
        #expect(bench.journal.records.isEmpty)
        bench.clock.advance(by: .seconds(1))
        await review.expireOldGrants()
        #expect(bench.sessions.allSessions.map(\.id) == [fresh])
        #expect(bench.journal.records.map(\.result).allSatisfy { $0 == "login-too-old" })

        for _ in 0..<29 {
            bench.clock.advance(by: .seconds(86_400))
            await review.expireOldGrants()
        }
        #expect(try await pendingDeletion() == [device])
        #expect(try await bench.ledger.registrations(of: Bench.bob).map(\.id).contains(withoutAccount))
        // The authenticator of that name now reports the status of accounts.
        let kept = try await register(3, Bench.alice)
        chain.value = AuthenticatorChain([.init(name: "list", credentialKinds: [.password], authenticator: keeper)])
        bench.clock.advance(by: .seconds(40 * 86_400))
        await review.expireOldGrants()
        #expect(try await pendingDeletion() == [device])
        #expect(try await bench.ledger.registrations(of: Bench.alice).map(\.id) == [kept])
    }

    private var revoked: [UserName?] { bench.journal.records.map(\.facts?.user) }
    private func pendingDeletion() async throws -> [RegistrationID] {
        try await bench.ledger.pendingDeletion(limit: 100)
    }

    @Test("The recheck revokes sessions of ended accounts and leaves accounts with an unknown status unchanged")
    func sessions() async throws {
        let (status, gone) = (try await bench.login(Bench.alice), try await bench.login(Bench.bob))
        var suspects: Set<Account> = []
        keeper.answer(.unknown(.busy), for: "alice", "bob")
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.allSessions.count == 2)
        keeper.answer(.valid(groups: []), for: "alice")
        keeper.answer(.ended(.disabled), for: "bob")
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.session(status) != nil)
        #expect(bench.sessions.session(gone) == nil)
        #expect(revoked == [Bench.bob])
        #expect(bench.journal.records.map(\.facts?.session) == [gone])
        #expect(suspects.isEmpty)
    }

    @Test("Sessions of a removed authenticator end, however many there are, and registrations stay")
    func unconfigured() async throws {
        for number in 0..<30 { _ = try await bench.login(#require(UserName(canonical: "user-\(number)"))) }
        _ = try await bench.login(Bench.alice)
        let device = try await register(1, Bench.alice)
        chain.value = AuthenticatorChain([])
        var suspects: Set<Account> = []
        for _ in 0..<2 { await review.recheckAccounts(&suspects) }
        #expect(bench.sessions.allSessions.isEmpty)
        #expect(revoked.count == 31)
        #expect(try await bench.ledger.registrations(of: Bench.alice).map(\.id) == [device])
        #expect(try await pendingDeletion().isEmpty)
    }

    @Test("The recheck deletes registrations of an ended account after two rechecks that agree")
    func devices() async throws {
        _ = try await register(1, Bench.alice)
        let bobs = try await register(2, Bench.bob)
        var suspects: Set<Account> = []
        keeper.answer(.ended(.expired), for: "bob")
        await review.recheckAccounts(&suspects)
        keeper.answer(.unknown(.timedOut), for: "bob")
        await review.recheckAccounts(&suspects)
        keeper.answer(.ended(.expired), for: "bob")
        await review.recheckAccounts(&suspects)
        #expect(try await pendingDeletion().isEmpty)
        await review.recheckAccounts(&suspects)
        #expect(try await pendingDeletion() == [bobs])
        #expect(revoked == [Bench.bob])
        #expect(bench.journal.records.map(\.result) == ["account-ended"])
        await review.recheckAccounts(&suspects)
        #expect(revoked.count == 1)
    }

    @Test("A disabled account keeps its registrations, and so does a user with another valid account")
    func keepsDevices() async throws {
        _ = try await register(1, Bench.alice)
        _ = try await register(2, Bench.bob)
        _ = try await register(3, Bench.bob, login: "bob@elsewhere")
        for user in [Bench.alice, Bench.bob] { _ = try await bench.login(user) }
        keeper.answer(.ended(.disabled), for: "alice")
        keeper.answer(.ended(.expired), for: "bob")
        var suspects: Set<Account> = []
        for _ in 0..<3 { await review.recheckAccounts(&suspects) }
        #expect(try await pendingDeletion().isEmpty)
        #expect(bench.sessions.allSessions.isEmpty)
    }

    @Test("The recheck queries the account once more before it deletes registrations")
    func askedOnceMore() async throws {
        _ = try await register(1, Bench.bob)
        for last in [AccountStatus.ended(.disabled), .unknown(.busy), .valid(groups: [])] {
            keeper.answer([.ended(.expired), .ended(.expired), last], for: "bob")
            var suspects: Set<Account> = []
            for _ in 0..<2 { await review.recheckAccounts(&suspects) }
        }
        #expect(try await pendingDeletion().isEmpty)
        #expect(revoked.isEmpty)
    }

    @Test("A session that the ledger cannot end has ended in memory, with a record")
    func ledgerFails() async throws {
        let session = try await bench.login(Bench.bob)
        keeper.answer(.ended(.expired), for: "bob")
        try bench.ledger.close()
        var suspects: Set<Account> = []
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.session(session) == nil)
        #expect(bench.journal.records.map(\.facts?.session) == [session])
    }

    @Test(
        "Registrations of an account with a session are deleted at the second recheck, whatever account registered them"
    )
    func devicesOfASession() async throws {
        _ = try await bench.login(Bench.bob)
        let device = try await register(1, Bench.bob, login: nil)
        keeper.answer(.ended(.wrong), for: "bob")
        var suspects: Set<Account> = []
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.allSessions.isEmpty)
        #expect(try await pendingDeletion().isEmpty)
        await review.recheckAccounts(&suspects)
        #expect(try await pendingDeletion() == [device])
    }

    @Test("The recheck revokes nothing if more than ten accounts and a tenth of all seem to have ended")
    func manyAtOnce() async throws {
        let users = try (0..<12).map { try #require(UserName(canonical: "user-\($0)")) }
        for (number, user) in users.enumerated() {
            if number % 2 == 0 { _ = try await bench.login(user) } else { _ = try await register(number, user) }
            keeper.answer(.ended(.wrong), for: user.text)
        }
        var suspects: Set<Account> = []
        for _ in 0..<3 { await review.recheckAccounts(&suspects) }
        #expect(revoked.isEmpty)
        #expect(bench.sessions.allSessions.count == 6)
        // The directory has recovered, and two accounts have ended.
        for user in users { keeper.answer(.valid(groups: []), for: user.text) }
        keeper.answer(.ended(.wrong), for: "user-0", "user-1")
        for _ in 0..<2 { await review.recheckAccounts(&suspects) }
        #expect(Set(revoked) == [users[0], users[1]])
    }

    @Test("Many disabled accounts do not hide an account that has ended")
    func manyDenied() async throws {
        for number in 0..<12 {
            let user = try #require(UserName(canonical: "user-\(number)"))
            _ = try await register(number, user)
            keeper.answer(.ended(.disabled), for: user.text)
        }
        let device = try await register(20, Bench.bob)
        keeper.answer(.ended(.expired), for: "bob")
        var suspects: Set<Account> = []
        for _ in 0..<2 { await review.recheckAccounts(&suspects) }
        #expect(try await pendingDeletion() == [device])
        #expect(revoked == [Bench.bob])
    }

    @Test("Registrations of a removed authenticator are deleted when their last login is too old")
    func oldGrantsOfRemoved() async throws {
        let device = try await register(1, Bench.alice)
        chain.value = AuthenticatorChain([])
        for _ in 0..<29 {
            bench.clock.advance(by: .seconds(86_400))
            await review.expireOldGrants()
        }
        #expect(try await pendingDeletion().isEmpty)
        #expect(try await bench.sessions.registrationCounts() == ["list": 1])
        bench.clock.advance(by: .seconds(86_400))
        await review.expireOldGrants()
        #expect(try await pendingDeletion() == [device])
        #expect(try await bench.sessions.registrationCounts().isEmpty)
    }

    @Test("An account whose authenticator was busy is queried again within the same recheck, after longer pauses")
    func busy() async throws {
        let session = try await bench.login(Bench.bob)
        keeper.answer([.unknown(.busy), .unknown(.busy), .unknown(.busy), .ended(.expired)], for: "bob")
        let pauses = Mutex<[Duration]>([])
        var review = review
        review.pause = { pause in
            pauses.withLock { $0.append(pause) }
            return true
        }
        var suspects: Set<Account> = []
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.session(session) == nil)
        #expect(pauses.withLock(\.self) == [.seconds(1), .seconds(2), .seconds(4)])
        // An authenticator that stays busy ends the attempts.
        keeper.answer(.unknown(.busy), for: "alice")
        let other = try await bench.login(Bench.alice)
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.session(other) != nil)
        #expect(pauses.withLock(\.count) == 3 + 7)
    }

    @Test("A word of an operator ends the accounts of a directory too")
    func confirmed() async throws {
        let users = try (0..<12).map { try #require(UserName(canonical: "user-\($0)")) }
        for (number, user) in users.enumerated() {
            _ = try await bench.login(user)
            _ = try await register(number, user)
            keeper.answer(.ended(.wrong), for: user.text)
        }
        var suspects: Set<Account> = []
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.allSessions.count == 12)
        #expect(bench.massEnds.confirm().count == 12)
        await review.recheckAccounts(&suspects)
        #expect(bench.sessions.allSessions.isEmpty)
        // The word stands for the second recheck.
        #expect(try await pendingDeletion().count == 12)
    }
}
