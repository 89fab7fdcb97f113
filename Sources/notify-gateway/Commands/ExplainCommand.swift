import ArgumentParser
import GatewayCore
import GatewayServer

/// `explain`: what would become of a call.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say what would become of a call: the rule, the limits, the backend's requests.",
        discussion: """
            Asks the running gateway, by its limits as they stand; where none runs, goes by the configuration and the ledger on
            disk, with all limits full. Nothing is sent, recorded or charged. Credentials of the backend are not shown.
            Exits 1 if the call would be refused. Also says where no authenticator knows the user, and which authenticators cannot
            tell without a login; where no gateway runs, the users file is read and PAM is asked by the command itself.

            Example: notify-gateway explain --user alice --body '"hello"' 'POST /api/notifications?pns=apns&to_tag=bob'
            """)

    @Option(help: "Whose call it is.") var user: String
    @Option(
        help: ArgumentHelp(
            "A group that the user is in; may be given again.",
            discussion: "Without it, the groups of the user's account count, where an authenticator can tell them."))
    var group: [GroupName] = []
    @Option(help: "The call's body.") var body: String?
    @OptionGroup var gateway: ControlOption
    @Argument(help: "The method and the target.") var call: String

    func run() async throws {
        var arguments: [JSONValue.Member] = [
            .init("user", .string(user)), .init("groups", .array(group.map { .string($0.text) })),
            .init("call", .string(call)),
        ]
        if let body { arguments.append(.init("body", .string(body))) }
        var isRejected = false
        let fault = try await gateway.askEither(ControlRequest("explain", arguments), readingOnly: true) { item in
            isRejected = item["end"]?.string == "refused"
            if gateway.results.json {
                try gateway.results.say(item)
            } else {
                try Console.say(ExplanationText(item).text)
            }
        }
        if let fault { throw fault }
        if isRejected { throw ExitCode(1) }
    }
}
