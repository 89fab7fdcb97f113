import ArgumentParser
import GatewayCore
import GatewayServer

/// `reload`: has the running gateway read its files of users and keys again.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Have the running gateway read its configuration, users and keys again, as SIGHUP does.",
        discussion: """
            All of it is read and looked over first, and counts then for the calls that begin; those under way end by what was
            before. Prints what is wrong, one problem a line, and exits 1 if that is an error: nothing is changed then. What
            cannot change while the gateway runs, such as an address that it listens on, is such an error. Files of users and
            keys that change are read within a second without this.

            Example: notify-gateway reload --config gateway.yaml
            """)

    @OptionGroup var gateway: ControlOption

    func run() async throws {
        let fault = try await gateway.ask(ControlRequest("reload")) { item in
            try gateway.results.json ? gateway.results.say(item) : Console.say(Self.line(item))
        }
        if let fault { throw fault }
        Console.complain("The configuration and its files count as they are now.")
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
