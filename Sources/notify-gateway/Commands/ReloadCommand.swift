import ArgumentParser
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `reload`: makes the running gateway reload its configuration and files.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Reload the configuration, users and keys of the running gateway, as SIGHUP does.",
        discussion: """
            Everything is validated first and then applies to new calls; calls in progress complete under the previous \
            configuration. Prints one problem per line. If one of them is an error, nothing changes and it exits 1. A \
            change that needs a restart, such as another listening address, is an error. Changed files of users and \
            keys are reloaded within a second without this command.

            Example: notify-gateway reload --config gateway.yaml
            """)

    @OptionGroup var gateway: ControlOption

    func run() async throws {
        let fault = try await gateway.send(ControlRequest("reload")) { item in
            try gateway.results.json ? gateway.results.print(item) : Console.printResult(Self.line(item))
        }
        if let fault { throw fault }
        Console.printMessage("The configuration and its files were reloaded.")
    }

    private static func line(_ item: JSONValue) -> String {
        let location = SourceLocation(
            file: item["file"]?.string ?? "", line: Int(item["line"]?.integer ?? 0),
            column: Int(item["column"]?.integer ?? 0))
        return ConfigurationProblem(
            at: location, path: item["path"]?.string ?? "", item["message"]?.string ?? "",
            severity: item["severity"]?.string.flatMap(ConfigurationProblem.Severity.init) ?? .error
        ).description.printable
    }
}
