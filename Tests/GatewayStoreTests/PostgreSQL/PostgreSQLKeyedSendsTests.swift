import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

@Suite("Keyed sends in PostgreSQL", .timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct PostgreSQLKeyedSendsTests {
    private typealias Fixture = KeyedSendFixture

    private let send = KeyedSendFixture.send(1)

    @Test("Two nodes see the same states of a send, and keep its response")
    func states() async throws {
        let nodes = try Fixture()
        let number = try await Fixture.insert(send, in: nodes.first)
        for register in [nodes.first, nodes.second] {
            #expect(try await register.insert(send) == .inFlight)
            #expect(try await register.insert(Fixture.send(1, message: 2)) == .differentMessage)
        }
        nodes.first.complete(send, number: number, .completed(.accepted, response: [1, 2, 3]))
        try await nodes.flush(nodes.first)
        for register in [nodes.first, nodes.second] {
            #expect(try await register.insert(send) == .completed(.accepted, response: [1, 2, 3]))
            #expect(try await register.insert(Fixture.send(1, message: 2)) == .differentMessage)
        }
        _ = try await Fixture.insert(Fixture.send(1, of: "carol"), in: nodes.second)
    }

    @Test("A send that was not made is new again, and a late result of its call changes nothing")
    func notSent() async throws {
        let nodes = try Fixture()
        let number = try await Fixture.insert(send, in: nodes.first)
        nodes.first.complete(send, number: number, .notSent)
        try await nodes.flush(nodes.first)
        let again = try await Fixture.insert(send, in: nodes.first)
        nodes.first.complete(send, number: number, .notSent)
        try await nodes.flush(nodes.first)
        #expect(again != number)
        #expect(try await nodes.second.insert(send) == .inFlight)
    }

    @Test(
        "A send in flight of a node that is not live any more becomes unknown",
        arguments: ["UPDATE node SET until = 1", "UPDATE node SET fence = fence + 1", "DELETE FROM node"])
    func deadNode(end: String) async throws {
        let nodes = try Fixture()
        let number = try await Fixture.insert(send, in: nodes.first)
        let instance = nodes.stores[0].node.instance
        try nodes.execute("\(end) WHERE instance = ?", [.text(instance)])
        #expect(try await nodes.second.insert(send) == .unknown)
        try nodes.execute("DELETE FROM node WHERE instance = ?", [.text(instance)])
        #expect(try await nodes.second.insert(send) == .unknown)
        // It cannot register or complete a send any more.
        await #expect(throws: LedgerUnavailable.self) { try await nodes.first.insert(Fixture.send(2)) }
        nodes.first.complete(send, number: number, .notSent)
        #expect(try await nodes.second.insert(send) == .unknown)
    }

    @Test("A node that was only late stores the result of a send that another node has marked as unknown")
    func lateNode() async throws {
        let nodes = try Fixture()
        let number = try await Fixture.insert(send, in: nodes.first)
        try nodes.execute("UPDATE node SET until = 1 WHERE instance = ?", [.text(nodes.stores[0].node.instance)])
        #expect(try await nodes.second.insert(send) == .unknown)
        nodes.first.complete(send, number: number, .completed(.accepted, response: []))
        try await nodes.flush(nodes.first)
        #expect(try await nodes.second.insert(send) == .completed(.accepted, response: []))
    }

    @Test("A row that cannot be read counts as unknown")
    func unreadable() async throws {
        let nodes = try Fixture()
        let number = try await Fixture.insert(send, in: nodes.first)
        nodes.first.complete(send, number: number, .completed(.accepted, response: [1]))
        try await nodes.flush(nodes.first)
        try nodes.execute("UPDATE keyed_send SET result = 'no result' WHERE state = 'completed'")
        #expect(try await nodes.second.insert(send) == .unknown)
        try nodes.execute("UPDATE keyed_send SET result = 'accepted', response = NULL WHERE state = 'completed'")
        #expect(try await nodes.second.insert(send) == .unknown)
    }

    @Test("Of many calls at two nodes at the same time, one makes each send")
    func conflicts() async throws {
        let nodes = try Fixture()
        let registers = [nodes.first, nodes.second]
        let inserted = try await withThrowingTaskGroup(of: UInt8?.self) { group in
            for index in 0..<400 {
                // The nodes use the keys in opposite orders.
                let key = UInt8(index % 2 == 0 ? index / 2 % 50 : 49 - index / 2 % 50)
                group.addTask {
                    let state = try await registers[index % 2].insert(Fixture.send(key))
                    if case .inserted = state { return key }
                    #expect(state == .inFlight)
                    return nil
                }
            }
            return try await group.reduce(into: [UInt8]()) { keys, key in if let key { keys.append(key) } }
        }
        #expect(inserted.sorted() == Array(0..<50))
    }

    @Test("A send that has expired by both clocks is new, and a periodic removal removes it", arguments: [true, false])
    func expiry(byBoth: Bool) async throws {
        let nodes = try Fixture()
        // The registers keep the time at which they were created.
        if byBoth { nodes.clock.setWall(WallTime(seconds: 4_000_000_000)) }
        let (first, second) = (PostgreSQLKeyedSends(nodes.stores[0]), PostgreSQLKeyedSends(nodes.stores[1]))
        for key in 1...3 { _ = try await Fixture.insert(Fixture.send(UInt8(key)), in: first) }
        try nodes.execute("UPDATE keyed_send SET at = at - ?", [.integer(KeyedSendTables.period)])
        if byBoth { _ = try await Fixture.insert(send, in: second) }
        // For the gateway no day has passed: the clock of the database has jumped.
        #expect(try await first.removeOld() == (byBoth ? 2 : 0))
        #expect(try await first.insert(send) == .inFlight)
        #expect(try nodes.count() == (byBoth ? 1 : 3))
    }

    @Test("The oldest sends beyond the bounds are removed: of a user, and of all")
    func bounds() async throws {
        var bounds = PostgreSQLKeyedSends.Bounds()
        (bounds.perUser, bounds.total) = (3, 5)
        let nodes = try Fixture(bounds: bounds)
        for key in 1...5 { _ = try await Fixture.insert(Fixture.send(UInt8(key)), in: nodes.first) }
        for key in 1...3 { _ = try await Fixture.insert(Fixture.send(UInt8(key), of: "carol"), in: nodes.first) }
        #expect(try await nodes.second.removeOld() == 3)
        #expect(try await nodes.first.removeOld() == 0)
        #expect(try await nodes.first.insert(Fixture.send(5)) == .inFlight)
        #expect(try await nodes.first.insert(Fixture.send(1, of: "carol")) == .inFlight)
        _ = try await Fixture.insert(Fixture.send(3), in: nodes.second)
        try await nodes.first.removeAll(of: #require(UserName(canonical: "carol")))
        #expect(try nodes.count() == 3)
    }

    @Test(
        "While the server is stopped, sends fail and results wait; after that they are written, or count as unknown",
        arguments: [1000, 0])
    func stopped(bound: Int) async throws {
        let server = try PostgreSQLServer()
        let (directory, clock) = (TemporaryDirectory(), ManualClock())
        let store = try PostgreSQLStore(
            .init(connection: server.settings, readers: 1), file: directory("ledger.sqlite"), use: .shared(),
            clocks: clock.clocks)
        var bounds = PostgreSQLKeyedSends.Bounds()
        bounds.unwritten = bound
        let register = PostgreSQLKeyedSends(store, bounds: bounds)
        let response = KeyedSendResult.completed(.accepted, response: [9])
        let number = try await Fixture.insert(send, in: register)
        server.kill()
        register.complete(send, number: number, response)
        // The first of them fails before the result is tried again, and the second one after that.
        for _ in 0..<2 {
            await #expect(throws: LedgerUnavailable.self) { try await register.insert(Fixture.send(2)) }
        }
        #expect(register.unwrittenCount == min(3, bound))
        try server.start()
        // Past the moment in which the register does not try again.
        clock.advance(by: .seconds(1))
        _ = try await Fixture.insert(Fixture.send(2), in: register)
        let state = try await register.insert(send)
        #expect(state == (bound == 0 ? .unknown : .completed(.accepted, response: [9])))
        #expect(register.unwrittenCount == 0)
        register.close()
        try store.close(isUsable: true)
    }

    @Test("A gateway with another key of message digests does not start, and learns which file to copy")
    func digestKey() throws {
        let nodes = try Fixture()
        #expect(try !nodes.stores[0].hasDigestKey())
        let key = Secret([UInt8](repeating: 1, count: KeyFile.byteCount))
        for store in nodes.stores { try store.verify(KeyedDigester(key: key), keyFile: "/x.digest.key") }
        #expect(try nodes.stores[1].hasDigestKey())
        let other = KeyedDigester(key: Secret([UInt8](repeating: 2, count: KeyFile.byteCount)))
        let wrong = #expect(throws: LedgerUnavailable.self) {
            try nodes.stores[1].verify(other, keyFile: "/x.digest.key")
        }
        #expect(wrong?.detail.contains("/x.digest.key is not the key") == true)
        let directory = TemporaryDirectory()
        try PrivateFiles.makeDirectory(directory.path)
        let missing = #expect(throws: KeyFile.Failure.self) {
            try DigestKeyFile.loadOrCreate(ledger: directory("ledger"), journal: directory.path, mayCreate: false)
        }
        #expect(missing?.description.contains("copy the file") == true)
    }
}
