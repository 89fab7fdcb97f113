import ArgumentParser
import GatewayCore
import GatewayServer
import HMACToken

/// `tokens`: tokens of `hmac-token`, for operators and services.
struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Issue tokens, look at them, see who has them, and take them back.",
        subcommands: [Issue.self, Inspect.self, List.self, Revoke.self])

    struct Issue: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Issue a token for a user; it goes to standard output.",
            discussion: """
                Whoever holds the token is the user until it ends.

                Example: notify-gateway tokens issue --user alice --lifetime 30min --config gateway.yaml
                """)

        @Option(help: "Whose token it is.") var user: String
        @Option(help: "A group that the token vouches for; may be given several times.") var group: [GroupName] = []
        @Option(help: "How long it is good for, such as 30min; unless given, as configured.") var lifetime: Duration?
        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let settings = try file.settings(of: HMACTokenPlugin.self)
            guard let subject = ConfigurationFile.names(in: file.config).canonical(user) else {
                throw CommandFailure.refused("\"\(user)\" is not a user's name.")
            }
            let issued: IssuedToken
            do {
                issued = try TokenSigner(settings).issue(
                    subject: subject, groups: Set(group), lifetime: lifetime, now: Clocks.system.wall())
            } catch {
                throw CommandFailure.refused("No token was issued: \(error)")
            }
            try Console.say(issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
            Console.complain("For \(subject), signed with \(issued.key), good until \(issued.expires).")
        }
    }
}
