import ArgumentParser
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `explain`: shows how the gateway would process a call.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show how a call would be processed: the rule, the limits, the backend's requests.",
        discussion: """
            Queries the running gateway with the current state of its limits. If none runs, uses the configuration and \
            the ledger on disk, with all limits unused, reads the users file, and queries PAM itself. Sends, records and \
            charges nothing. The backend's credentials are not shown. Exits 1 if the call would be rejected. Reports a \
            user that no authenticator knows, and the authenticators that cannot tell without a login.

            With --as-token, the caller is the holder of a token: the authenticators verify it as for a call, and the \
            output shows its claims, the user and the groups that they give, and what became of the call. The token \
            itself is not shown.

            Examples:
            notify-gateway explain --user alice --body '"hello"' 'POST /api/notifications?pns=apns&to_tag=bob'
            notify-gateway explain --as-token token.txt --body '"hello"' 'POST /api/notifications?pns=apns&to_tag=bob'
            """)

    @Option(help: "The user who makes the call.") var user: String?
    @Option(
        name: .customLong("as-token"),
        help: ArgumentHelp(
            "A file with the token of the caller; - for standard input.",
            discussion: "Instead of --user. A token in a command line could be read by other users of the machine.",
            valueName: "file"))
    var tokenFile: String?
    @Option(
        help: ArgumentHelp(
            "A group of the user; may be repeated.",
            discussion: "Default: the groups of the user's account, if an authenticator can tell them."))
    var group: [GroupName] = []
    @Option(help: "The call's body.") var body: String?
    @OptionGroup var gateway: ControlOption
    @Argument(help: "The method and the target of the call.") var call: String

    func validate() throws {
        guard (user == nil) != (tokenFile == nil) else {
            throw ValidationError("Give either --user or --as-token.")
        }
        guard tokenFile == nil || group.isEmpty else {
            throw ValidationError("--group has no effect with --as-token: a token has its own groups.")
        }
    }

    func run() async throws {
        var arguments: [JSONValue.Member] = [.init("call", .string(call))]
        if let user {
            arguments.append(.init("user", .string(user)))
            arguments.append(.init("groups", .array(group.map { .string($0.text) })))
        }
        if let tokenFile { arguments.append(.init("token", .string(try Self.token(in: tokenFile)))) }
        if let body { arguments.append(.init("body", .string(body))) }
        var isRejected = false
        let fault = try await gateway.perform(ControlRequest("explain", arguments), readingOnly: true) { item in
            isRejected = item["end"]?.string == "refused"
            if gateway.results.json {
                try gateway.results.print(item)
            } else {
                try Console.printResult(ExplanationText(item).text)
            }
        }
        if let fault { throw fault }
        if isRejected { throw ExitCode(1) }
    }

    /// Reads the token from the first line of a file.
    private static func token(in file: String) throws -> String {
        let line: String?
        if file == "-" {
            line = readLine()
        } else {
            do {
                line = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").first.map(String.init)
            } catch {
                throw CommandFailure.refused("\(file) cannot be read: \(OperatorMessage.of(error)).")
            }
        }
        let token = (line ?? "").trimmingPrefix(while: \.isWhitespace).prefix { !$0.isWhitespace }
        guard !token.isEmpty else {
            throw CommandFailure.refused("\(file == "-" ? "Standard input" : file) contains no token.")
        }
        return String(token)
    }
}
