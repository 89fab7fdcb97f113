import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport

/// `check`: reports every problem of a configuration, and changes nothing.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Report every problem of a configuration.",
        discussion: """
            Reads the configuration, and the files of users and keys that it names. Prints one problem per line with \
            file, line and column, and as notes which users are meant by names with escapes. Exits 1 if a problem \
            prevents a start. If "identity" differs from the rules that \
            produced the names in the ledger, it also prints which users would be renamed or merged.

            Example: notify-gateway check --config gateway.yaml
            """)

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let problems = await ConfigurationCheck.problems(of: file.config, catalog: .all)
        for problem in problems { try Console.printResult(problem.description.onOneLine) }
        let errors = problems.count { $0.severity == .error }
        if errors > 0 { throw CommandFailure.refused("\(errors) \(errors == 1 ? "error" : "errors").") }
        Console.printMessage("\(file.config): valid.")
    }
}
