import ArgumentParser
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

            Example: notify-gateway explain --user alice --body '"hello"' 'POST /api/notifications?pns=apns&to_tag=bob'
            """)

    @Option(help: "The user who makes the call.") var user: String
    @Option(
        help: ArgumentHelp(
            "A group of the user; may be repeated.",
            discussion: "Default: the groups of the user's account, if an authenticator can tell them."))
    var group: [GroupName] = []
    @Option(help: "The call's body.") var body: String?
    @OptionGroup var gateway: ControlOption
    @Argument(help: "The method and the target of the call.") var call: String

    func run() async throws {
        var arguments: [JSONValue.Member] = [
            .init("user", .string(user)), .init("groups", .array(group.map { .string($0.text) })),
            .init("call", .string(call)),
        ]
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
}
