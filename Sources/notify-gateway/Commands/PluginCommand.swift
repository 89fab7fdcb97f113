import ArgumentParser
import ExternalProcess

/// `plugin`: commands for authors of authenticators.
struct PluginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugin", abstract: "Test your own authenticator.", subcommands: [Test.self])

    /// `plugin test`: tests a process against the protocol of `external-process`.
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Test whether a process follows the protocol of external-process.",
            discussion: """
                Sends the process what a gateway sends, and then invalid input that a gateway never sends. The \
                process sees some dozens of failed logins. No login succeeds but that of --login, whose password is read \
                from the terminal or the first line of standard input. Prints one line per check, and exits 1 if one \
                failed. A process of version 2 also gets queries of the status of accounts that do not exist, and of \
                those that --account names with the status that it should report: valid, absent, expired or disabled.

                Example: notify-gateway plugin test /run/authenticator.sock --account alice=valid --account bob=disabled
                """)

        @Argument(help: "The Unix socket that the process listens on.") var socket: String

        @Option(help: ArgumentHelp("An account and the status to report.", valueName: "name=status"))
        var account: [String] = []

        @Option(help: ArgumentHelp("A user whose password the process should accept.", valueName: "name"))
        var login: String?

        func validate() throws {
            for text in account where ExternalProcessConformance.Account(text) == nil {
                throw ValidationError(
                    "--account \(text): write NAME=STATUS, with the status valid, absent, expired or disabled.")
            }
        }

        func run() async throws {
            var writeError: (any Error)?
            let accounts = account.compactMap(ExternalProcessConformance.Account.init)
            let given = try login.map {
                ExternalProcessConformance.Login(user: $0, password: try PasswordPrompt.readCurrent(of: $0))
            }
            let test = ExternalProcessConformance(socket: socket, login: given, accounts: accounts)
            let isGood = await test.run { result in
                do { try Console.printResult(result.description) } catch { writeError = error }
            }
            if let writeError { throw writeError }
            if !isGood { throw CommandFailure.refused("The process does not follow the protocol.") }
        }
    }
}
