import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewayStore
import GatewaySupport

/// The filter options of the commands that list records.
struct AuditFilterOption: ParsableArguments {
    @Option(help: "Sends from this user.") var from: String?
    @Option(help: "Sends to this user.") var to: String?
    @Option(help: "Calls of this user.") var user: String?
    @Option(help: "The action: send, register-update, hand-over and so on.") var action: String?
    @Option(
        help: """
            The result as audit list shows it: accepted, rate-limited, login-failed and so on; or would-refuse and \
            would-limit for calls that policy rules and limits in shadow mode would have rejected.
            """)
    var result: String?
    @Option(help: "The policy rule that decided, such as send[0].") var rule: String?
    @Option(help: "The client's address, as audit list shows it.") var peer: String?
    @Option(
        help: ArgumentHelp(
            """
            The name of the limit that rejected the call or would have. A number instead is the maximum number of \
            rows, as with --rows.
            """,
            valueName: "name"))
    var limit: LimitOrRows?
    @Option(
        help: ArgumentHelp(
            "The start: a time (RFC 3339), a day (2026-11-22, UTC), or a span until now such as 2w, 7d or 1h30m.",
            valueName: "time"))
    var since: AuditTime?
    @Option(help: ArgumentHelp("The end: a time, a day, or a span until now.", valueName: "time"))
    var until: AuditTime?
    @Option(help: "One call, by its id (X-Request-Id).") var call: String?

    func validate() throws {
        if let action, Action(rawValue: action) == nil {
            let words = Action.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--action \(action) is not one of: \(words)")
        }
        if let result, !AuditQuery.resultWords.contains(result) {
            throw ValidationError(
                "--result \(result) is not one of: \(AuditQuery.resultWords.joined(separator: ", "))")
        }
    }

    /// Returns the query, with user names in the canonical form that the journal contains.
    func query(by names: NameRules, now: WallTime) throws -> AuditQuery {
        var query = AuditQuery()
        query.from = try from.map { try names.user($0) }
        query.to = try to.map { try names.user($0) }
        query.user = try user.map { try names.user($0) }
        query.action = action.flatMap(Action.init(rawValue:))
        query.result = result
        query.rule = rule
        query.peer = peer
        query.limit = limit?.name
        query.since = since?.time(before: now)
        query.until = until?.time(before: now)
        query.call = call
        return query
    }
}

extension NameRules {
    /// Returns the user that a name in any spelling means.
    func user(_ text: String) throws -> UserName {
        guard let user = user(PresentedName(text)) else {
            throw CommandFailure.refused("\(text.printable) is not a user's name.")
        }
        return user
    }
}

/// The value of `--limit`: the name of a limit, or a number of rows as in earlier versions.
enum LimitOrRows: ExpressibleByArgument {
    case limit(String)
    case rows(Int)

    init?(argument: String) {
        if argument.allSatisfy({ $0.isASCII && $0.isNumber }) {
            guard let rows = Int(argument), rows > 0 else { return nil }
            self = .rows(rows)
        } else {
            self = .limit(argument)
        }
    }

    var name: String? { if case .limit(let name) = self { name } else { nil } }
    var rows: Int? { if case .rows(let rows) = self { rows } else { nil } }
}

/// The options of the commands that read the journal, if several gateways share a store.
struct NodesOption: ParsableArguments {
    @Flag(
        help: """
            Read only the journal of this machine, also while PostgreSQL cannot be reached. Without it, the records of \
            all gateways with the same store are read.
            """)
    var thisNode = false
}

/// The option of the commands that print unchanged lines.
struct NodeMemberOption: ParsableArguments {
    @Flag(
        help: """
            With --json, add the name of the gateway to each line as its first member, node. Without that member, a \
            line is the unchanged line of the journal.
            """)
    var withNode = false

    /// Returns the bytes to print for a line.
    func bytes(of line: AuditLine) -> [UInt8] { withNode ? line.namingNode : line.bytes }

    /// Throws if lines are to name their nodes but do not.
    func validate(_ source: any AuditSource) throws {
        guard !withNode || source.hasNodes else {
            throw CommandFailure.refused("--with-node requires a store in PostgreSQL, and no --this-node.")
        }
    }
}

/// Opens the journals of a configuration: those of all gateways with the same store, or the journal of this one with an
/// updated index.
enum AuditJournal {
    /// Runs a query. If the journals cannot be read, the command fails. Without a usable index, the segments are read.
    @discardableResult
    static func query<Response>(
        _ configuration: ServerConfiguration, _ nodes: NodesOption, _ body: (any AuditSource) throws -> Response
    ) throws -> Response {
        try shared(configuration, nodes) { try body($0) } ?? own(configuration, body)
    }

    /// Runs a query on the journals of all gateways. Returns nil if there is only this one, or only this one is wanted.
    static func shared<Response>(
        _ configuration: ServerConfiguration, _ nodes: NodesOption, _ body: (SharedJournals) throws -> Response
    ) throws -> Response? {
        guard let settings = configuration.store, !nodes.thisNode else { return nil }
        // The server may know the gateway by its user.
        try StoresOwner(of: configuration).assumeForCommand()
        do {
            let journals = try SharedJournals(settings)
            defer { journals.close() }
            return try body(journals)
        } catch let failure as LedgerUnavailable {
            throw CommandFailure.unavailable(
                "The journals of all gateways cannot be read: \(failure.detail); --this-node reads the journal of this "
                    + "machine alone")
        }
    }

    private static func own<Response>(
        _ configuration: ServerConfiguration, _ body: (AuditTrail) throws -> Response
    ) throws -> Response {
        // The index is a file of the gateway, so the command writes it as the gateway's user.
        try StoresOwner(of: configuration).assumeForCommand()
        let journal = configuration.journal
        // The index is sealed with a key that is derived from the signing key.
        let seal: IndexSeal?
        var obstacle: String?
        do {
            seal = IndexSeal(try SigningKeyFile.open(journal.signingKey, outside: journal.directory, mayCreate: false))
        } catch {
            (seal, obstacle) = (nil, error.description)
        }
        let trail = AuditTrail(directory: journal.directory, minimumFree: journal.minimumFree, seal: seal)
        defer { trail.close() }
        if obstacle == nil {
            var progress = ProgressLine("Reading the journal")
            obstacle = trail.update { progress.show($0, of: $1) }?.description
            progress.finish()
        }
        do {
            let answer = try body(trail)
            if let obstacle {
                Console.printMessage("The index cannot be used, so the segments were read: \(obstacle)")
            }
            return answer
        } catch let failure as AuditIndex.Failure {
            throw CommandFailure.unavailable(failure.description)
        }
    }
}
