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
    @Option(help: "How it ended: accepted, rate-limited and so on.") var result: String?
    @Option(help: ArgumentHelp("Not before: a time (RFC 3339), or a span until now such as 7d.", valueName: "time"))
    var since: AuditTime?
    @Option(help: ArgumentHelp("Before: a time (RFC 3339), or a span until now.", valueName: "time"))
    var until: AuditTime?
    @Option(help: "One call, by its X-Request-Id.") var call: String?

    func validate() throws {
        if let action, Action(rawValue: action) == nil {
            let words = Action.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--action \(action) is none of: \(words)")
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
        query.since = since?.time(before: now)
        query.until = until?.time(before: now)
        query.call = call
        return query
    }
}

/// A time as the command line has it: a time of day, or how long ago.
enum AuditTime: ExpressibleByArgument {
    case at(WallTime)
    case ago(Duration)

    init?(argument: String) {
        if let time = WallTime(rfc3339: argument) {
            self = .at(time)
        } else if let span = Duration(configured: argument) {
            self = .ago(span)
        } else {
            return nil
        }
    }

    func time(before now: WallTime) -> WallTime {
        switch self {
        case .at(let time): time
        case .ago(let span):
            WallTime(seconds: now.seconds.subtractingReportingOverflow(span.components.seconds).partialValue)
        }
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

/// The index of a journal, brought up to date.
enum AuditQuestion {
    /// Asks the journal of the configuration; where its files cannot be read the command ends.
    static func ask<Answer>(
        _ configuration: ServerConfiguration, _ body: (AuditIndex) throws -> Answer
    ) throws -> Answer {
        let directory = configuration.journal.directory
        // The index lies beside the journal, and the gateway must be able to go on with it.
        try StoresOwner(of: configuration).assumeForCommand()
        do {
            let index = try AuditIndex(directory: directory)
            defer { index.close() }
            var progress = ProgressLine("Reading the journal")
            try index.update { progress.show($0, of: $1) }
            progress.end()
            return try body(index)
        } catch let failure as AuditIndex.Failure {
            throw CommandFailure.unavailable(failure.description)
        }
    }
}
