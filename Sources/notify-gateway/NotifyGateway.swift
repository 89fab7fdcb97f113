import ArgumentParser
import Foundation
import GatewayServer
import PAM

/// The program: a command and its sub-commands. Results go to standard output, everything else to standard error.
///
/// Exit codes: 0 done, 1 refused or found wrong, 2 usage, 69 a service that is needed cannot be had.
@main
struct NotifyGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify-gateway",
        abstract: "An HTTP gateway that makes a notify-users backend safe to use with real accounts.",
        discussion: """
            Try it:       notify-gateway demo
            Then write:   /etc/notify-gateway/gateway.yaml
            Look it over: notify-gateway check
            Run it:       notify-gateway serve

            Log in for a token, and register a device with it:

            TOKEN=$(curl -sS -u alice -X POST http://127.0.0.1:8080/auth/token | jq -r .access_token)
            ID=$(curl -sS -H "Authorization: Bearer $TOKEN" -X POST \\
              'http://127.0.0.1:8080/api/register?handle=HANDLE' | tr -d '"')
            curl -sS -H "Authorization: Bearer $TOKEN" -X PUT "http://127.0.0.1:8080/api/register/$ID" \\
              -H 'Content-Type: application/json' -d '{"Platform":"apns","Handle":"HANDLE","Tags":[]}'
            """,
        version: Version.text,
        subcommands: [
            ServeCommand.self, DemoCommand.self, CheckCommand.self, BackendCommand.self, UsersCommand.self,
            TokensCommand.self, RegistrationsCommand.self, KeysCommand.self, BansCommand.self, LimitsCommand.self,
            ExplainCommand.self, ProbeCommand.self, ReloadCommand.self, AuditCommand.self, LedgerCommand.self,
            PluginCommand.self,
            VersionCommand.self,
        ])

    static func main() async {
        // Not a command for people: the program starts itself so for each PAM worker, which is to be nothing else.
        if CommandLine.arguments.dropFirst().first == "pam-worker" {
            PAMWorker.run(Array(CommandLine.arguments.dropFirst(2)))
        }
        // Writing to a peer that has gone is an error to be handled, not a signal to die of.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot()
            if var waiting = command as? any AsyncParsableCommand {
                try await waiting.run()
            } else {
                // What the parser makes of `--help` and `help`: it knows which command's.
                try command.run()
            }
        } catch {
            leave(with: error)
        }
    }

    private static func leave(with error: any Error) -> Never {
        if let failure = error as? CommandFailure {
            if !failure.message.isEmpty { Console.complain(failure.message) }
            Foundation.exit(failure.code)
        }
        let code = exitCode(for: error)
        let text = fullMessage(for: error)
        if code == .success {
            do {
                try Console.say(text)
            } catch {
                if !error.message.isEmpty { Console.complain(error.message) }
                Foundation.exit(error.code)
            }
        } else if !text.isEmpty {
            Console.complain(text)
        }
        // The usual code for usage is 2; the parser's is 64.
        Foundation.exit(code == .validationFailure ? 2 : code.rawValue)
    }
}

/// What the program is called after.
enum Version {
    /// The version, as `version` prints it.
    static let text = ProgramVersion.text
}
