public import ArgumentParser
import Foundation
public import GatewayCore
import GatewayServer
import GatewaySupport
import LDAP
import PAM
import WorkerProcesses

/// The executable: a root command and its subcommands. Results go to standard output, everything else to standard
/// error.
///
/// Exit codes: 0 success, 1 rejected or invalid, 2 usage error, 69 a required service is unavailable.
@main
struct NotifyGateway: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify-gateway",
        abstract: "An HTTP gateway that makes a notify-users backend safe to use with real accounts.",
        discussion: """
            Try it:       notify-gateway demo
            Then write:   /etc/notify-gateway/gateway.yaml
            Check it:     notify-gateway check
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
            ServeCommand.self, DemoCommand.self, CheckCommand.self, BackendCommand.self, HubCommand.self,
            UsersCommand.self, TokensCommand.self, RegistrationsCommand.self, KeysCommand.self, BansCommand.self,
            LimitsCommand.self, NodesCommand.self, AccountsCommand.self,
            ExplainCommand.self, ProbeCommand.self, ReloadCommand.self, AuditCommand.self,
            BackupCommand.self, RestoreCommand.self, LedgerCommand.self, PluginCommand.self, VersionCommand.self,
        ])

    static func main() async {
        ProcessMemory.protect()
        // Not commands for people: the gateway starts this program with one of these arguments as a worker.
        switch CommandLine.arguments.dropFirst().first {
        case "pam-worker": PAMWorker.run(Array(CommandLine.arguments.dropFirst(2)))
        case "ldap-worker": LDAPWorker.run()
        // Before the arguments are parsed, which takes milliseconds.
        case "serve": EarlyHangUp.remember()
        default: break
        }
        // A write to a closed connection returns an error instead of terminating the process.
        signal(SIGPIPE, SIG_IGN)
        do {
            var command = try parseAsRoot()
            if var waiting = command as? any AsyncParsableCommand {
                try await waiting.run()
            } else {
                // The parser's command for `--help` and `help` is synchronous.
                try command.run()
            }
        } catch {
            leave(with: error)
        }
    }

    private static func leave(with error: any Error) -> Never {
        if let failure = error as? CommandFailure {
            if !failure.message.isEmpty { Console.printMessage(failure.message) }
            Foundation.exit(failure.code)
        }
        let code = exitCode(for: error)
        let text = fullMessage(for: error)
        if code == .success {
            do {
                try Console.printResult(text)
            } catch {
                if !error.message.isEmpty { Console.printMessage(error.message) }
                Foundation.exit(error.code)
            }
        } else if !text.isEmpty {
            Console.printMessage(text)
        }
        // The usual exit code for usage errors is 2; the parser uses 64.
        Foundation.exit(code == .validationFailure ? 2 : code.rawValue)
    }
}

/// The version of the executable.
enum Version {
    /// The version, as `version` prints it.
    static let text = ProgramVersion.text
}

extension Duration: @retroactive ExpressibleByArgument {
    /// Parses a duration as the configuration writes it, such as `30min`.
    public init?(argument: String) { self.init(configured: argument) }
}

extension GroupName: ExpressibleByArgument {
    /// Parses the name of a group.
    public init?(argument: String) { self.init(argument) }
}

/// `version`: prints the version.
struct VersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Print the version.", discussion: "Example: notify-gateway version")

    func run() async throws { try Console.printResult("notify-gateway \(Version.text)") }
}
