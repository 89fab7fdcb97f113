import ArgumentParser
import GatewayCore
import GatewayServer

/// `check`: finds everything that is wrong with a configuration, and changes nothing.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Say everything that is wrong with a configuration.",
        discussion: """
            Reads the configuration, and the files of users and keys that it names. Prints one problem a line, with file, line
            and column; exits 1 if one of them keeps the gateway from starting. Where "identity" is not what the names in the ledger
            were made by, it prints which of them would change, and which would meet.

            Example: notify-gateway check --config gateway.yaml
            """)

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let problems = await ConfigurationCheck.problems(of: file.config, catalog: .all)
        for problem in problems { try Console.say(problem.description) }
        let errors = problems.count { $0.severity == .error }
        if errors > 0 { throw CommandFailure.refused("\(errors) \(errors == 1 ? "error" : "errors").") }
        Console.complain("\(file.config): good.")
    }
}
