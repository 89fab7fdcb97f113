import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import Testing

@testable import GatewayOperations

/// The recheck of accounts beside other gateways.
@Suite("Account recheck with a shared store")
struct SharedRecheckTests {
    private typealias Bench = AccountFixture

    /// Other gateways as the test sets them.
    private final class Others: TaskLeases, AccountAgreement {
        let hasTask = HotSwappable(true)
        let agree = HotSwappable(true)
        let outage = HotSwappable<LedgerUnavailable?>(nil)

        func acquire(_ task: SharedTask) async throws(LedgerUnavailable) -> Bool {
            if let outage = outage.value { throw outage }
            return hasTask.value
        }
        func isReached() async throws(LedgerUnavailable) -> Bool {
            if let outage = outage.value { throw outage }
            return agree.value
        }
        func propose(_ lists: AccountListsDigest) async throws(LedgerUnavailable) -> AccountDecision { .wait }
        func complete() async throws(LedgerUnavailable) {}
        func applyOwn() async throws(LedgerUnavailable) -> AccountWord? { nil }
    }

    private let bench: Bench
    private let others = Others()
    private let group = GroupName("dispatch")!  // A valid name.

    init() throws { bench = try Bench(TestFiles()) }

    private func recheck(_ authenticator: any Authenticator) -> AccountRecheck {
        AccountRecheck(
            chain: HotSwappable(
                AuthenticatorChain([.init(name: "list", credentialKinds: [.password], authenticator: authenticator)])),
            revocation: bench.revocation, sharing: others,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// A directory with one user, whose account has ended.
    private struct Directory: AccountAuthenticator {
        let status: AccountStatus

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
        func status(of login: LoginName) async -> AccountStatus { status }
    }

    @Test("While users files differ, the recheck ends no session of an account that another file may have")
    func differingFiles() async throws {
        let session = try await bench.login(Bench.bob)
        let recheck = recheck(bench.accounts)
        var suspects: Set<Account> = []
        others.agree.value = false
        for _ in 0..<2 { await recheck.recheckAccounts(&suspects) }
        others.outage.value = LedgerUnavailable("away")
        await recheck.recheckAccounts(&suspects)
        #expect(bench.sessions.session(session) != nil && bench.journal.records.isEmpty)
        others.outage.value = nil
        others.agree.value = true
        await recheck.recheckAccounts(&suspects)
        #expect(bench.sessions.session(session) == nil)
    }

    @Test("Accounts of a directory that all gateways ask end although users files differ")
    func directory() async throws {
        let session = try await bench.login(Bench.bob)
        others.agree.value = false
        var suspects: Set<Account> = []
        await recheck(Directory(status: .ended(.wrong))).recheckAccounts(&suspects)
        #expect(bench.sessions.session(session) == nil)
    }

    @Test("A gateway that does not have the task ends nothing, and its tokens still lose groups")
    func updatesGroups() async throws {
        let session = try await bench.login(Bench.alice)
        await recheck(Directory(status: .valid(groups: [group]))).updateGroups()
        #expect(bench.sessions.groups(of: Bench.alice) == [group])
        await recheck(Directory(status: .valid(groups: []))).updateGroups()
        #expect(bench.sessions.groups(of: Bench.alice) == [])
        await recheck(Directory(status: .ended(.wrong))).updateGroups()
        #expect(bench.sessions.session(session) != nil)
        _ = try await bench.sessions.delete(session, of: Bench.alice)
        await recheck(Directory(status: .valid(groups: []))).updateGroups()
        #expect(bench.sessions.groups(of: Bench.alice) == nil)
    }

    @Test("Without the task, or without the store, a gateway neither rechecks nor expires")
    func task() async throws {
        let recheck = recheck(bench.accounts)
        #expect(await recheck.hasTask())
        others.hasTask.value = false
        #expect(await !recheck.hasTask())
        others.hasTask.value = true
        others.outage.value = LedgerUnavailable("away")
        #expect(await !recheck.hasTask())
    }
}
