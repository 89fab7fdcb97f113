import BenchmarkSupport
import GRDB
import GatewayCore
import GatewayStore
import GatewaySupport
import NIOCore

/// The ledger's registrations, ten per user. An import creates the registrations that calls use; one SQL statement
/// creates the others, which only add to the size.
struct Registrations: Dimension {
    let name = "registrations"
    let sizes = [10, 10_000, 1_000_000]

    private static func called(of size: Int) -> [Int] { spread(1_000, over: size) }

    func prepare(_ setup: inout GatewaySetup, size: Int) async throws {
        let ledger = try StoredLedger(file: setup.ledger)
        let now = Clocks.system.wall()
        let rules = HandleRules()
        let entries = try Self.called(of: size).map { number in
            guard let id = RegistrationID(Self.id(number)), let owner = UserName(canonical: Self.owner(number)) else {
                throw OutOfGrammar()
            }
            return ImportEntry(
                id: id, assessment: .valid(owner: owner, handle: try rules.handle(Self.handle(number), of: .apns)),
                content: Array(Self.id(number).utf8))
        }
        let results = try await ledger.importEntries(entries, now: now)
        guard results.allSatisfy({ $0 == .bound }) else { throw OutOfGrammar() }
        try await ledger.recordImport(now: now)
        try ledger.close()
        try fill(setup.ledger, to: size)
    }

    private func fill(_ file: String, to size: Int) throws {
        let database = try DatabaseQueue(path: file)
        try database.write { database in
            try database.execute(
                sql: """
                    WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?)
                    INSERT OR IGNORE INTO registration (id, owner, service, handle, state, created, last_seen)
                    SELECT format('%d-%d-1', n + 1, n + 1), 'user-' || (n / 10), 'apns', randomblob(16), 'live', 0, 0
                    FROM number
                    """,
                arguments: [size])
            try database.execute(
                sql:
                    "INSERT OR IGNORE INTO label (\"user\", label, registration, used) SELECT owner, id, id, 0 FROM registration"
            )
            let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM registration")
            guard count == size else { throw OutOfGrammar() }
        }
        try database.close()
    }

    func calls(_ setup: GatewaySetup, size: Int) throws -> [(name: String, requests: [ByteBuffer])] {
        let places = Self.called(of: size)
        let owners = places.map(Self.owner)
        let tokens = try setup.tokens(of: owners)
        return [
            (
                "registration, renewed",
                zip(places, tokens).map { place, token in
                    CallBytes.registration(of: Self.handle(place), id: Self.id(place), "Bearer \(token)")
                }
            ),
            ("send, token", [CallBytes.send("Bearer \(tokens[0])")]),
        ]
    }

    private static func id(_ number: Int) -> String { "\(number + 1)-\(number + 1)-1" }
    private static func owner(_ number: Int) -> String { "user-\(number / 10)" }
    private static func handle(_ number: Int) -> String {
        let digits = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    private struct OutOfGrammar: Error {}
}
