import GRDB
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("The accounts that made registrations", .timeLimit(.minutes(5)))
struct RegistrationAccountTests {
    private let account = Account(user: Fixture.alice, login: LoginName("EXAMPLE\\alice"), authenticator: "pam")
    private let fixture: LedgerFixture
    private let register: SessionRegister

    init() throws {
        fixture = try Fixture()
        register = try SessionRegister(fixture.ledger, clocks: ManualClock().clocks)
    }

    @Test("Each account once, from the device's newest registration, while the registration is live")
    func accounts() async throws {
        let (first, second) = (try Fixture.handle(1), try Fixture.handle(2))
        try await fixture.update(Fixture.alice, Fixture.id(1), first, by: account, fresh: Fixture.id(1))
        try await fixture.update(Fixture.alice, Fixture.id(2), second, by: account, fresh: Fixture.id(2))
        try await fixture.update(Fixture.bob, Fixture.id(3), Fixture.handle(3), fresh: Fixture.id(3))
        #expect(try await register.registeringAccounts() == [account])

        // One device registers again with another login, the other with a credential that needs no recheck.
        let renamed = Account(user: Fixture.alice, login: LoginName("alice"), authenticator: "pam")
        try await fixture.update(Fixture.alice, Fixture.id(1), first, by: renamed)
        #expect(try await Set(register.registeringAccounts()) == [account, renamed])
        try await fixture.update(Fixture.alice, Fixture.id(2), second)
        #expect(try await register.registeringAccounts() == [renamed])

        // Another request for an id, or another registration, does not change the account.
        _ = try await fixture.create(Fixture.alice, first, given: Fixture.id(4))
        try await fixture.update(Fixture.alice, Fixture.id(4), first, by: renamed)
        #expect(try await register.registeringAccounts() == [renamed])

        // The device is transferred, and its account with it.
        try await fixture.update(Fixture.bob, Fixture.id(4), first)
        #expect(try await register.registeringAccounts().isEmpty)
        try await fixture.update(Fixture.alice, Fixture.id(4), first, by: renamed)
        try await register.revoke(Fixture.alice)
        #expect(try await register.registeringAccounts().isEmpty)
    }

    @Test("The queries for one user and for all accounts read only an index")
    func indexes() async throws {
        func plan(_ query: String, _ arguments: StatementArguments = StatementArguments()) async throws -> String {
            try await fixture.ledger.sqlite.read { database in
                let rows = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(query)", arguments: arguments)
                return rows.map { $0["detail"] as String }.joined(separator: "; ")
            }
        }
        #expect(
            try await plan(LedgerTables.accountStart, ["alice"])
                == "SEARCH account USING COVERING INDEX account_of_user (user=?)")
        #expect(
            try await plan(LedgerTables.registeringAccounts)
                == "SCAN registration USING COVERING INDEX registration_by_account")
    }
}
