import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport
import HMACToken
import Logging

/// `tokens`: manages the tokens of `hmac-token`.
struct TokensCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokens", abstract: "Issue, inspect, list and revoke tokens.",
        subcommands: [Issue.self, Inspect.self, List.self, Revoke.self])

    /// `tokens issue`: issues a token and prints it.
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
            let names = ConfigurationFile.names(in: file.config)
            let subject = try names.user(user)
            let issued: IssuedToken
            do {
                issued = try TokenSigner(settings, names: names).issue(
                    subject: subject, groups: Set(group), lifetime: lifetime, now: Clocks.system.wall())
            } catch {
                throw CommandFailure.refused("No token was issued: \(error)")
            }
            try Console.printResult(issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
            Console.printMessage("For \(subject), signed with \(issued.key), valid until \(issued.expires).")
        }
    }
}

extension TokensCommand {
    /// `tokens inspect`: prints the content of a token and verifies it as the gateway does.
    struct Inspect: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the content of a token, and whether it is valid.",
            discussion: """
                Reads the token from standard input, because other users of the machine can read command lines. \
                Verifies it with the configured authenticators as the gateway does, except for revocation, which only \
                the running gateway knows. For oidc, reads the provider's keys. An external-process authenticator \
                receives the token. Exits 1 with the reason if the token is not valid, or cannot be verified now.

                Example: notify-gateway tokens inspect --config gateway.yaml < token.txt
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var results: ResultOption

        func run() async throws {
            let configuration = try file.load()
            if Console.isInteractive { Console.printMessage("Paste the token, then press Return.") }
            let token = Secret(token: readLine(strippingNewline: true) ?? "")
            let gateway = StoppedGateway(
                configuration: configuration, logger: .server(.init(level: .warning, format: .text)))
            let report = TokenReport(await gateway.lookUpToken(token))
            if results.json {
                try results.print(report.object)
            } else {
                try results.print(
                    report.rows, columns: [.init("part", "PART"), .init("name", "NAME"), .init("value", "VALUE")])
            }
            switch report.lookup.inspection.result {
            case .valid: break
            case .invalid(_, let detail):
                throw CommandFailure.refused("The token is not valid: \(detail).".printable)
            case .undecided(_, let detail):
                throw CommandFailure.refused("The token cannot be verified: \(detail).".printable)
            }
        }
    }
}

extension Secret {
    /// Takes the token from a line: the bytes between blanks.
    init(token line: some StringProtocol) {
        self.init(line.utf8.drop { $0 <= UInt8(ascii: " ") }.prefix { $0 > UInt8(ascii: " ") })
    }
}
