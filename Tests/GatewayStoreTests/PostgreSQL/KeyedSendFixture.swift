import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

/// Two gateways that are live in one store in PostgreSQL, each with its register of keyed sends.
final class KeyedSendFixture {
    let first: PostgreSQLKeyedSends
    let second: PostgreSQLKeyedSends
    let stores: [PostgreSQLStore]
    var clock: ManualClock { shared.clock }
    private let shared: SharedStore
    private let connection: PostgreSQLConnection

    init(bounds: PostgreSQLKeyedSends.Bounds = .init()) throws {
        shared = try SharedStore()
        connection = try shared.connect()
        stores = [try shared.open(shared.first), try shared.open(shared.second)]
        first = PostgreSQLKeyedSends(stores[0], bounds: bounds)
        second = PostgreSQLKeyedSends(stores[1], bounds: bounds)
        try shared.keepAlive()
    }

    /// Makes a node live at its own fence.
    func revive(_ node: StoreNode) throws {
        try execute(
            "UPDATE node SET fence = ?, until = ? WHERE instance = ?",
            [
                .integer(node.fenceNumber), .integer(.max), .text(node.instance),
            ])
    }

    /// Executes a statement on a connection of the test.
    func execute(_ sql: String, _ arguments: [PostgreSQLValue] = []) throws {
        _ = try connection.execute(sql, arguments)
    }

    /// The number of stored sends.
    func count() throws -> Int64? {
        var count: Int64?
        try connection.forEachRow("SELECT count(*) FROM keyed_send", []) { _, values in
            if case .integer(let number) = values[0] { count = number }
        }
        return count
    }

    /// Returns once the results that were passed to the register before are written.
    func flush(_ register: PostgreSQLKeyedSends) async throws {
        let send = Self.send(0, of: "flush")
        let state = try await register.insert(send)
        guard case .inserted(let number) = state else { return }
        register.complete(send, number: number, .unknown)
    }

    static func send(_ key: UInt8, of user: String = "alice", message: UInt8 = 1) -> KeyedSend {
        KeyedSend(
            // A valid name, and digests of 16 bytes.
            user: UserName(canonical: user)!, target: "bob", service: .apns,
            key: KeyedDigest([UInt8](repeating: key, count: 16))!,
            message: KeyedDigest([UInt8](repeating: message, count: 16))!)
    }

    /// Registers a send that is not registered, and returns its number.
    static func insert(_ send: KeyedSend, in register: PostgreSQLKeyedSends) async throws -> UInt64 {
        let state = try await register.insert(send)
        guard case .inserted(let number) = state else {
            Issue.record("the send is registered: \(state)")
            return 0
        }
        return number
    }
}
