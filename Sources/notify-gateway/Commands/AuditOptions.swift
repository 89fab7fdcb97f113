import ArgumentParser
import GatewayCore
import GatewayServer
import GatewayStore

/// Which records are asked for: the same options for every command that lists them.
struct AuditFilterOption: ParsableArguments {
    @Option(help: "Sends by this user.") var from: String?
    @Option(help: "What was sent to this user.") var to: String?
    @Option(help: "What this user did.") var user: String?
    @Option(help: "What was done: send, register-update, hand-over and so on.") var action: String?
    @Option(
        help: """
            How it ended, in the words of audit list: accepted, rate-limited, login-failed and so on; or would-refuse and \
            would-limit, for what rules and limits on trial would have refused.
            """)
    var result: String?
    @Option(help: "The rule of the policy that decided, such as send[0].") var rule: String?
    @Option(help: "The address that the call came from, as audit list shows it.") var peer: String?
    @Option(
        help: ArgumentHelp(
            """
            The limit that refused the call, or would have, by its name. A number instead is how many rows are listed, as \
            with --rows.
            """,
            valueName: "name"))
    var limit: LimitOrRows?
    @Option(
        help: ArgumentHelp(
            "Not before: a time (RFC 3339), a day (2026-11-22, UTC), or a span until now such as 2w, 7d or 1h30m.",
            valueName: "time"))
    var since: AuditTime?
    @Option(help: ArgumentHelp("Before: a time, a day, or a span until now.", valueName: "time"))
    var until: AuditTime?
    @Option(help: "One call, by its X-Request-Id.") var call: String?

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

    /// The question, with names in the form that the journal has them in.
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
    /// The user of the name in any spelling.
    func user(_ text: String) throws -> UserName {
        guard let user = canonical(text) else {
            throw CommandFailure.refused("\(text.printable) is not a user's name.")
        }
        return user
    }
}

/// The name of a limit, or a number of rows: `--limit` took the number before limits could be asked for.
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

/// The journal of a configuration, with its index brought up to date.
enum AuditJournal {
    /// Asks the journal; where its files cannot be read the command ends. Without an index that can be used the segments are read.
    @discardableResult
    static func query<Response>(
        _ configuration: ServerConfiguration, _ body: (AuditTrail) throws -> Response
    ) throws -> Response {
        // The index lies beside the journal, and the gateway must be able to go on with it.
        try StoresOwner(of: configuration).assumeForCommand()
        let trail = AuditTrail(directory: configuration.journal.directory)
        defer { trail.close() }
        var progress = ProgressLine("Reading the journal")
        let obstacle = trail.update { progress.show($0, of: $1) }
        progress.end()
        do {
            let answer = try body(trail)
            if let obstacle {
                Console.complain("Answered without the index, which cannot be used: \(obstacle.description)")
            }
            return answer
        } catch let failure as AuditIndex.Failure {
            throw CommandFailure.unavailable(failure.description)
        }
    }
}
