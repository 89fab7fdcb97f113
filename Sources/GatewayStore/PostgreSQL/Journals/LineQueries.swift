internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

/// Queries on the lines of all nodes' journals, over one connection. Confined to one thread.
struct LineQueries {
    let connection: PostgreSQLConnection
    /// Called between statements. If it returns false, a page ends early, and other queries fail.
    var mayContinue: () -> Bool = { true }

    /// Prepares a new connection for these queries. Throws if there is no store.
    ///
    /// Plans are made for the values of each query, because users and results differ by orders of magnitude, and without
    /// those that read all lines of a user before they sort them. Compiling a plan would take longer than to run it.
    static func prepare(_ connection: PostgreSQLConnection) throws {
        guard try PostgreSQLSchema.version(of: PostgreSQLTransaction(connection: connection, node: nil)) != nil else {
            throw LedgerUnavailable("there is no store: no gateway has used this database yet")
        }
        try connection.simple(
            """
            SET plan_cache_mode = force_custom_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off
            """)
    }

    /// The rows of lists and their places.
    typealias Listing = AuditListing<LineLocator>

    /// Returns the list of the lines that match a query.
    func listing(_ query: AuditQuery, before bound: LineKey? = nil, known: JournalEnds = .init()) -> Listing {
        AuditListing(
            query, LineLocator(connection: connection, bound: bound, known: known, mayContinue: mayContinue))
    }

    /// Returns the ends of all journals: of at most ``JournalEnds/maximumEntries``.
    func ends() throws -> JournalEnds {
        var found = JournalEnds()
        try connection.forEachRow(
            "SELECT instance, chain, next FROM journal_copy ORDER BY instance LIMIT ?",
            [.integer(Int64(JournalEnds.maximumEntries))]
        ) { _, values in
            guard values.count == 3, case .text(let instance) = values[0], case .integer(let chain) = values[1],
                case .integer(let next) = values[2]
            else { throw LedgerUnavailable("the table journal_copy has unexpected columns") }
            guard JournalEnds.chains.contains(chain), next >= 0 else {
                throw LedgerUnavailable(
                    "the table journal_copy states line \(next) of chain \(chain) as an end, which no journal has")
            }
            found.ends[instance] = JournalEnds.End(chain: chain, next: next)
        }
        return found
    }

    /// Returns the time of the database's clock, in microseconds since 1970.
    func time() throws -> Int64 {
        var time: Int64?
        try connection.forEachRow("SELECT (extract(epoch FROM now()) * 1000000)::bigint AS now") { _, values in
            if case .integer(let now)? = values.first { time = now }
        }
        guard let time else { throw LedgerUnavailable("the server returned no time") }
        return time
    }

    /// Returns the names of the nodes.
    func names() throws -> NodeNames {
        var hosts: [String: String] = [:]
        try connection.forEachRow("SELECT instance, host FROM node") { _, values in
            guard values.count == 2, case .text(let instance) = values[0], case .text(let host) = values[1] else {
                throw LedgerUnavailable("the table node has unexpected columns")
            }
            hosts[instance] = host
        }
        return NodeNames(hosts: hosts)
    }

    /// Returns the newest sends to the user that may have reached the backend, newest first.
    func received(by user: UserName, since: WallTime, limit: Int) throws -> [ReceivedNotification] {
        var query = sends(to: user, since: since)
        query.kind = .outcome
        var found: [ReceivedNotification?] = []
        if limit > 0 {
            try visitAll(query, newestFirst: true) { line, time in
                guard !SenderTotals.isUnsent(line.text("result")) else { return true }
                found.append(ReceivedNotification(line.text("user"), line.text("pns"), time))
                return found.count < limit
            }
        }
        return found.compactMap(\.self)
    }

    /// Returns the senders who notified the user since the time, most frequent first.
    func senders(to user: UserName, since: WallTime) throws -> [SenderSummary] {
        var totals: [String: SenderTotals] = [:]
        try visitAll(sends(to: user, since: since), newestFirst: false) { line, time in
            if let sender = line.text("user"), let kind = line.text("kind") {
                totals[sender, default: SenderTotals()]
                    .add(kind, time, line.text("pns"), line.text("result"), line.count)
            }
            return true
        }
        return SenderTotals.summaries(totals)
    }

    private func sends(to user: UserName, since: WallTime) -> AuditQuery {
        var query = AuditQuery()
        query.to = user
        query.action = .send
        query.since = since
        return query
    }

    /// Visits the matching lines with their times until the visit returns false. Throws if that takes too long.
    private func visitAll(
        _ query: AuditQuery, newestFirst: Bool, _ visit: (JournalLineReader, Int64) throws -> Bool
    ) throws {
        let isComplete = try listing(query).visit(newestFirst: newestFirst) { location, line in
            try visit(JournalLineReader(bytes: line[...]), location.place.at)
        }
        guard isComplete else { throw LedgerUnavailable("the query takes too long") }
    }
}

/// The names of nodes for people: the name of the machine, and that of the installation if several have the same.
struct NodeNames: Sendable {
    private let names: [String: String]

    /// Creates the names from the hosts of the installations.
    init(hosts: [String: String]) {
        let counts = Dictionary(hosts.values.map { ($0, 1) }, uniquingKeysWith: +)
        names = Dictionary(
            uniqueKeysWithValues: hosts.map { instance, host in
                (instance, counts[host] == 1 ? host : "\(host)/\(instance)")
            })
    }

    /// Returns the name of an installation.
    func name(_ instance: String) -> String { names[instance] ?? instance }

    /// Returns the line with the name of its node.
    func line(_ found: LineQueries.Listing.Located) -> AuditLine {
        AuditLine(found.line, node: name(found.location.place.instance))
    }
}
