import Gateway
import GatewayConfiguration
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayOperations

@Suite("Accounts that end in large numbers")
struct MassEndTests {
    private let bench: AccountFixture
    private let users: [UserName]

    init() throws {
        bench = try AccountFixture(TestFiles())
        users = (0..<40).map { UserName(canonical: "user-\($0)")! }  // Valid names.
    }

    private func list(_ users: some Sequence<UserName>, hash: String = "x") {
        bench.accounts.list(Dictionary(uniqueKeysWithValues: users.map { ($0, hash) }))
    }

    private func compare() async {
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
    }

    private func chain() -> AuthenticatorChain {
        AuthenticatorChain(
            [.init(name: "list", credentialKinds: [.password], authenticator: bench.accounts)],
            massEnds: bench.massEnds)
    }

    @Test(
        "Users who are missing keep their sessions until an operator confirms that they have ended", arguments: [20, 0])
    func waits(_ count: Int) async throws {
        list(users)
        await compare()
        for user in users { _ = try await bench.login(user) }
        list(users.prefix(count))
        for _ in 0..<3 { await compare() }
        #expect(bench.sessions.allSessions.count == 40)
        #expect(bench.journal.records.isEmpty)
        #expect(bench.massEnds.users.count == 40 - count)
        // The recheck ends none of them either.
        let recheck = AccountRecheck(
            chain: HotSwappable(chain()), revocation: bench.revocation, massEnds: bench.massEnds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var suspects: Set<Account> = []
        for _ in 0..<2 { await recheck.recheckAccounts(&suspects) }
        #expect(bench.sessions.allSessions.count == 40)
        // A new user does not wait for the others.
        let fresh = try #require(UserName(canonical: "fresh"))
        list(users.prefix(count) + [fresh])
        await compare()
        #expect(try await bench.sessions.accounts(of: "list")[fresh] != nil)
        #expect(bench.massEnds.confirm().count == 40 - count)
        await bench.watch.retry()
        await bench.watch.compare()
        #expect(bench.sessions.allSessions.count == count)
        #expect(bench.massEnds.users.isEmpty)
    }

    @Test("The recheck leaves the accounts of a list to the next comparison", arguments: [5, 20])
    func comparedLater(_ ended: Int) async throws {
        list(users)
        await compare()
        for user in users { _ = try await bench.login(user) }
        list(users.dropFirst(ended))
        let recheck = AccountRecheck(
            chain: HotSwappable(chain()), revocation: bench.revocation, massEnds: bench.massEnds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var suspects: Set<Account> = []
        await recheck.recheckAccounts(&suspects)
        #expect(bench.sessions.allSessions.count == 40)
        await compare()
        #expect(bench.sessions.allSessions.count == (ended == 5 ? 35 : 40))
    }

    @Test("A file that gets its users back ends nobody, and neither does a start that finds it without them")
    func recovers() async throws {
        list(users)
        await compare()
        for user in users { _ = try await bench.login(user) }
        // Another monitor is that of the next start, which knows the accounts of the ledger.
        let next = AccountMonitor(
            [ScopedAccountList(name: "list", list: bench.accounts)], revocation: bench.revocation,
            massEnds: bench.massEnds, clocks: bench.clock.clocks,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        list(users.prefix(20))
        await next.compare()
        #expect(bench.sessions.allSessions.count == 40)
        let account = Account(user: users[30], login: LoginName(users[30].text), authenticator: "list")
        #expect(await chain().status(of: account) == .unknown(.failed))
        list(users)
        await next.listsHaveChanged()
        await next.compare()
        #expect(await chain().status(of: account) == .valid(groups: []))
        #expect(bench.massEnds.users.isEmpty)
        #expect(bench.sessions.allSessions.count == 40)
        #expect(bench.journal.records.isEmpty)
    }

    @Test("Ten users end at once, and so does a tenth of more", arguments: [(40, 10), (200, 20)])
    func few(_ all: Int, _ ended: Int) async throws {
        let users = (0..<all).map { UserName(canonical: "user-\($0)")! }  // Valid names.
        list(users)
        await compare()
        for user in users.prefix(ended) { _ = try await bench.login(user) }
        list(users.dropFirst(ended))
        await compare()
        #expect(bench.sessions.allSessions.isEmpty)
        list(users.dropFirst(2 * ended + 1))
        await compare()
        #expect(bench.massEnds.users.count == ended + 1)
    }

    @Test("A list that says that it is empty ends all accounts without a word")
    func declared() async throws {
        list(users)
        await compare()
        for user in users { _ = try await bench.login(user) }
        bench.accounts.declareEmpty()
        await compare()
        #expect(bench.sessions.allSessions.isEmpty)
    }

    @Test("Changed passwords and closed accounts end at once, however many they are", arguments: [true, false])
    func deliberate(isClosed: Bool) async throws {
        list(users)
        await compare()
        for user in users { _ = try await bench.login(user) }
        if isClosed { bench.accounts.close(Set(users)) }
        list(isClosed ? [] : users, hash: "y")
        await compare()
        #expect(bench.sessions.allSessions.isEmpty)
        #expect(bench.massEnds.users.isEmpty)
    }

    @Test("A user who ends while others wait does not wait, and those who wait keep their groups")
    func beside() async throws {
        let staff = try #require(GroupName("staff"))
        bench.accounts.put(Dictionary(uniqueKeysWithValues: users.map { ($0, [staff]) }))
        list(users)
        await compare()
        for user in users { _ = try await bench.login(user) }
        list(users.prefix(20))
        await compare()
        #expect(bench.sessions.groups(of: users[30]) == [staff])
        list(users.prefix(19))
        await compare()
        #expect(bench.sessions.sessions(of: users[19]).isEmpty)
        #expect(bench.sessions.groups(of: users[19]) == nil)
        #expect(bench.sessions.allSessions.count == 39)
        #expect(bench.massEnds.users == Set(users[20...]))
    }

    @Test("The word of an operator holds for its users while others end, until they are back")
    func more() {
        let ends = MassEnds()
        func admitted(_ range: Range<Int>, besides present: Range<Int> = 0..<0) -> Set<UserName> {
            ends.admit(Set(users[range]), besides: Set(users[present]), of: 40, from: .recheck("list"))
        }
        #expect(admitted(0..<20).isEmpty)
        // Few more end, and the others go on waiting.
        #expect(admitted(0..<21) == [users[20]])
        #expect(ends.confirm() == Set(users[0..<20]))
        #expect(ends.users.isEmpty)
        #expect(admitted(0..<21) == Set(users[0..<21]))
        #expect(admitted(0..<35) == Set(users[0..<20]))
        #expect(ends.users == Set(users[20..<35]))
        #expect(
            users[0..<20].allSatisfy { ends.isConfirmed($0, by: "list") } && !ends.isConfirmed(users[20], by: "list"))
        // A status that is unknown takes no word back, and a good one does.
        #expect(admitted(0..<0).isEmpty)
        #expect(admitted(0..<20) == Set(users[0..<20]))
        #expect(admitted(0..<0, besides: 5..<20).isEmpty)
        #expect(admitted(0..<20) == Set(users[0..<5]))
    }

    @Test("A word about lists to come is for the next comparison only")
    func listsToCome() {
        let ends = MassEnds()
        let all = Set(users)
        #expect(ends.confirm(includesLists: true).isEmpty)
        #expect(ends.admit(all, besides: [], of: 40, from: .recheck("list")).isEmpty)
        #expect(ends.admit(all, besides: [], of: 40, from: .lists("list")) == all)
        ends.listsAreApplied()
        #expect(ends.admit([], besides: all, of: 40, from: .lists("list")).isEmpty)
        #expect(ends.admit(all, besides: [], of: 40, from: .lists("list")).isEmpty)
    }
}

extension MassEnds {
    /// The users whose ends wait.
    var users: Set<UserName> { Set(waiting.map(\.user)) }
}
