import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import HMACToken

/// `tokens`: manages the tokens of `hmac-token`.
struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Issue, inspect, list and revoke tokens.",
        subcommands: [Issue.self, Inspect.self, List.self, Revoke.self])

    struct Issue: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Issue a token for a user and print it.",
            discussion: """
                The holder of the token acts as the user until it expires.

                Example: notify-gateway tokens issue --user alice --lifetime 30min --config gateway.yaml
                """)

        @Option(help: "The user of the token.") var user: String
        @Option(help: "A group in the token; may be repeated.") var group: [GroupName] = []
        @Option(help: "The lifetime, such as 30min. Default: the configured lifetime.") var lifetime: Duration?
        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let settings = try file.settings(of: HMACTokenPlugin.self)
            guard let subject = ConfigurationFile.names(in: file.config).canonical(user) else {
                throw CommandFailure.refused("\"\(user)\" is not a valid user name.")
            }
            let issued: IssuedToken
            do {
                issued = try TokenSigner(settings).issue(
                    subject: subject, groups: Set(group), lifetime: lifetime, now: Clocks.system.wall())
            } catch {
                throw CommandFailure.refused("No token was issued: \(error)")
            }
            try Console.printResult(issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
            Console.printMessage("For \(subject), signed with \(issued.key), valid until \(issued.expires).")
        }
    }
}
