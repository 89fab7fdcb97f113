import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient

@testable import GatewayStore

/// One line of a journal.
struct CountedRow {
    var kind = "outcome"
    var action: String? = "send"
    var user: String? = "alice"
    var recipient: String? = "bob"
    var result: String? = "accepted"
    var count: Int?
    var milliseconds: Int?
    var time: Int64

    func bytes(_ number: Int) -> [UInt8] {
        var members = #"{"seq":\#(number),"at":"\#(WallTime(microseconds: time))","kind":"\#(kind)""#
        for (name, text) in [("action", action), ("user", user), ("recipient", recipient), ("result", result)] {
            if let text { members += #","\#(name)":"\#(text)""# }
        }
        for (name, value) in [("count", count), ("ms", milliseconds)] {
            if let value { members += #","\#(name)":\#(value)"# }
        }
        let hash = String(repeating: "0", count: 64)
        return Array((members + #","prev":"\#(hash)","hash":"\#(hash)"}"#).utf8)
    }
}

/// Rows with the lines of journals, their counts, and a history that reads them.
struct CountsFixture {
    /// The names of the nodes.
    static let instances = ["00000000000000aa", "00000000000000bb"]

    let rows: JournalRows
    let counts: SharedCounts
    let history: SharedHistory
    /// The time of the database's clock.
    let now: Int64

    init(_ limits: SharedCounts.Limits = .init()) throws {
        rows = try JournalRows()
        counts = SharedCounts(rows.settings, clocks: .system, limits: limits)
        (history, _) = try rows.history()
        var now: Int64 = 0
        let connection = try rows.shared.connect()
        defer { connection.close() }
        try connection.forEachRow("SELECT \(StoreNode.now) AS now") {
            if case .integer(let time) = $1[0] { now = time }
        }
        self.now = now
    }

    func add(_ lines: [CountedRow], from number: Int = 1, of instance: String = instances[0], chain: Int64 = 0) throws {
        try rows.add(lines.enumerated().map { $1.bytes(number + $0) }, of: instance, chain: chain)
    }

    /// Counts all lines. Returns the number of steps.
    @discardableResult
    func update() async throws -> Int {
        var steps = 1
        while try await counts.update() { steps += 1 }
        return steps
    }

    func pairs(_ change: (inout PairQuery) -> Void = { _ in }) async throws -> PairStatistics {
        var query = PairQuery(limit: PairQuery.maximumLimit)
        change(&query)
        return try await history.pairs(query)
    }

    func close() {
        counts.close()
        history.close()
    }
}
