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
        "Half of the users keep their sessions until an operator confirms that they have ended",
        arguments: [(20, "x"), (40, "y")])
    func waits(_ count: Int, _ hash: String) async throws {
        list(users)
        await compare()
        for user in users { _ = try await bench.login(user) }
        list(users.prefix(count), hash: hash)
        for _ in 0..<3 { await compare() }
        #expect(bench.sessions.allSessions.count == 40)
        #expect(bench.journal.records.isEmpty)
        #expect(bench.massEnds.users.count == (count == 40 ? 40 : 20))
        // The recheck ends none of them either.
        let recheck = AccountRecheck(
            chain: HotSwappable(chain()), revocation: bench.revocation, massEnds: bench.massEnds,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var suspects: Set<Account> = []
        for _ in 0..<2 { await recheck.recheckAccounts(&suspects) }
        #expect(bench.sessions.allSessions.count == 40)
        // A new user does not wait for the others.
        let fresh = try #require(UserName(canonical: "fresh"))
        list(users.prefix(count) + [fresh], hash: hash)
        await compare()
        #expect(try await bench.sessions.accounts(of: "list")[fresh] != nil)
        #expect(bench.massEnds.confirm().count == (count == 40 ? 40 : 20))
        await bench.watch.retry()
        await bench.watch.compare()
        #expect(bench.sessions.allSessions.count == (count == 40 ? 0 : 20))
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

    @Test("The word of an operator holds for its users while others end, until they are back")
    func more() {
        let ends = MassEnds()
        func admitted(_ range: Range<Int>) -> Set<UserName> {
            ends.admit(Set(users[range]), of: 40, from: .recheck)
        }
        #expect(admitted(0..<20).isEmpty)
        #expect(ends.confirm() == Set(users[0..<20]))
        #expect(ends.users.isEmpty)
        // One more, and then too many more.
        #expect(admitted(0..<21) == Set(users[0..<21]))
        #expect(admitted(0..<35) == Set(users[0..<20]))
        #expect(ends.users == Set(users[20..<35]))
        #expect(users[0..<20].allSatisfy { ends.isConfirmed($0) } && !ends.isConfirmed(users[20]))
        // Those who were back wait again.
        #expect(admitted(0..<5) == Set(users[0..<5]))
        #expect(admitted(0..<20) == Set(users[0..<5]))
    }
}
