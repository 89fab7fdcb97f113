import GatewayCore
import GatewaySupport
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of the selection of the connection to close.
@Suite struct IdleTableTests {
    private var table = IdleTable<String>()
    private var indexes: [String: Int32] = [:]

    private mutating func add(_ name: String, _ network: UInt32?) {
        indexes[name] = table.add(name, of: network.map { .v4($0) })
    }

    private mutating func addUsed(_ name: String, _ network: UInt32?, idleSince seconds: Int64) throws {
        add(name, network)
        let index = try #require(indexes[name])
        table.markBusy(index)
        table.markIdle(index, since: Self.time(seconds))
    }

    private mutating func stall(_ name: String, at seconds: Int64) throws {
        table.markStalled(try #require(indexes[name]), since: Self.time(seconds))
    }

    private static func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    private mutating func take(at seconds: Int64 = 100, unsent: Set<String> = []) -> String? {
        table.removeCandidate(now: Self.time(seconds)) { unsent.contains($0) }
    }

    @Test("The longest idle connection is selected") mutating func theLongestIdleConnectionIsSelected() throws {
        #expect(take() == nil)
        for (name, network) in [("a", UInt32(1)), ("b", 2), ("c", 3)] {
            try addUsed(name, network, idleSince: Int64(network))
        }
        // It has served another call in the meantime.
        table.markBusy(try #require(indexes["a"]))
        table.markIdle(try #require(indexes["a"]), since: Self.time(4))
        #expect([take(), take(), take(), take()] == ["b", "c", "a", nil])
    }

    @Test("The network with the most idle connections comes first")
    mutating func theNetworkWithTheMostIdleConnectionsComesFirst() throws {
        try addUsed("honest", 1, idleSince: 1)
        for number in 2...4 { try addUsed("a\(number)", 2, idleSince: Int64(number)) }
        for number in 5...6 { try addUsed("b\(number)", 3, idleSince: Int64(number)) }
        // Now each network has at most two. In the end each has one, and the longest idle one is selected.
        #expect(take() == "a2")
        #expect([take(), take()].sorted { $0 ?? "" < $1 ?? "" } == ["a3", "b5"])
        #expect(take() == "honest")
        #expect([take(), take(), take()].contains("a4"))
    }

    @Test("A busy or removed connection is never selected")
    mutating func aBusyOrRemovedConnectionIsNeverSelected() throws {
        add("new", 1)
        for number in 1...3 { try addUsed("\(number)", 1, idleSince: Int64(number)) }
        table.markBusy(try #require(indexes["1"]))
        table.remove(try #require(indexes["2"]))
        #expect([take(), take()] == ["3", nil])
        for name in ["new", "1", "3"] { table.remove(try #require(indexes[name])) }
        // The entries are reused.
        try addUsed("4", 1, idleSince: 1)
        #expect([take(), take()] == ["4", nil])
    }

    @Test("A connection without a call is protected for a short time")
    mutating func aConnectionWithoutACallIsProtectedForAShortTime() throws {
        add("fresh", 1)
        table.markIdle(try #require(indexes["fresh"]), since: Self.time(100))
        #expect(take(at: 101) == nil)
        #expect(take(at: 102) == "fresh")
    }

    @Test("An unread response protects its connection for a short time")
    mutating func anUnreadResponseProtectsItsConnectionForAShortTime() throws {
        try addUsed("reads slowly", 1, idleSince: 100)
        try addUsed("has read", 1, idleSince: 101)
        #expect(take(at: 101, unsent: ["reads slowly"]) == "has read")
        #expect(take(at: 101, unsent: ["reads slowly"]) == nil)
        #expect(take(at: 102, unsent: ["reads slowly"]) == "reads slowly")
    }

    @Test("Connections without a network come last") mutating func proxiesComeLast() throws {
        for number in 1...3 { try addUsed("proxy \(number)", nil, idleSince: Int64(number)) }
        try addUsed("client", 1, idleSince: 50)
        #expect([take(), take(), take(), take(), take()] == ["client", "proxy 1", "proxy 2", "proxy 3", nil])
    }

    @Test("Stalled connections of a large network come before idle ones of smaller networks")
    mutating func stalledConnectionsOfALargeNetworkComeFirst() throws {
        for number in 1...2 { try addUsed("honest \(number)", 1, idleSince: Int64(number)) }
        for number in 1...3 {
            try addUsed("one byte \(number)", 2, idleSince: 10)
            try stall("one byte \(number)", at: 11)
        }
        for number in 1...2 {
            add("never used \(number)", 2)
            table.markIdle(try #require(indexes["never used \(number)"]), since: Self.time(12))
            try stall("never used \(number)", at: 13)
        }
        // The never used connections have waited since 12, although their bytes arrived later.
        #expect(
            [take(at: 15), take(at: 15), take(at: 16)] == ["never used 1", "never used 2", "one byte 1"])
    }

    @Test("The start of a request protects a used connection for 5 s, once")
    mutating func theStartOfARequestProtectsAUsedConnection() throws {
        try addUsed("uploads", 1, idleSince: 10)
        try stall("uploads", at: 60)
        #expect(take(at: 64) == nil)
        // Resets of streams, and further streams.
        table.markIdle(try #require(indexes["uploads"]), since: Self.time(64))
        try stall("uploads", at: 64)
        #expect(take(at: 64) == nil)
        #expect(take(at: 65) == "uploads")

        // A complete request starts again.
        try addUsed("again", 1, idleSince: 10)
        try stall("again", at: 60)
        table.markBusy(try #require(indexes["again"]))
        #expect(take() == nil)
        try stall("again", at: 80)
        #expect(take(at: 84) == nil)
        #expect(take(at: 85) == "again")
    }

    @Test("A request that is not complete does not protect a connection that was never used")
    mutating func anIncompleteRequestDoesNotProtectAnUnusedConnection() throws {
        add("one byte", 1)
        table.markIdle(try #require(indexes["one byte"]), since: Self.time(100))
        try stall("one byte", at: 101)
        #expect(take(at: 101) == nil)
        #expect(take(at: 102) == "one byte")
    }

    /// Compares the table with a plain list over many random changes.
    @Test("The table agrees with a plain list") mutating func theTableAgreesWithAPlainList() throws {
        struct Idle { var name: String, network: UInt32, order: Int }
        var generator = SplitMix(state: 7)
        var idle: [Idle] = []
        var networks: [String: UInt32] = [:]
        for step in 0..<20_000 {
            let name = "\(Int.random(in: 0..<40, using: &generator))"
            switch (networks[name], Int.random(in: 0..<4, using: &generator)) {
            case (nil, _):
                networks[name] = UInt32.random(in: 0..<6, using: &generator)
                add(name, networks[name])
            case (let network?, 0...1):
                let index = try #require(indexes[name])
                idle.removeAll { $0.name == name }
                idle.append(Idle(name: name, network: network, order: step))
                table.markBusy(index)
                if Bool.random(using: &generator) {
                    table.markIdle(index, since: Self.time(0))
                } else {
                    table.markStalled(index, since: Self.time(0))
                    if Bool.random(using: &generator) { table.markIdle(index, since: Self.time(1)) }
                }
            case (_?, 2):
                idle.removeAll { $0.name == name }
                table.markBusy(try #require(indexes[name]))
            default:
                idle.removeAll { $0.name == name }
                networks[name] = nil
                table.remove(try #require(indexes[name]))
            }
            guard step % 7 == 0 else { continue }
            let taken = take()
            let counts = Dictionary(grouping: idle, by: \.network).mapValues(\.count)
            let expected = idle.first { $0.name == taken }
            #expect((taken == nil) == idle.isEmpty)
            guard let expected else { continue }
            #expect(counts[expected.network] == counts.values.max())
            #expect(expected.order == idle.filter { $0.network == expected.network }.map(\.order).min())
            idle.removeAll { $0.name == taken }
        }
    }
}

/// A random number generator with a fixed sequence.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
