import ArgumentParser
import GatewayCore
import GatewayServer

/// `reload`: has the running gateway read its files of users and keys again.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Have the running gateway read its users and keys again, as SIGHUP does.",
        discussion: """
            Prints what is wrong with the files, one problem a line, and exits 1 if there is any; a file with problems changes
            nothing. Files that change are read within a second without this. gateway.yaml itself is read at the start only.

            Example: notify-gateway reload --config gateway.yaml
            """)

    @OptionGroup var gateway: ControlOption

    func run() async throws {
        let fault = try await gateway.ask(ControlRequest("reload")) { item in
            try gateway.results.json ? gateway.results.say(item) : Console.say(Self.line(item))
        }
        if let fault { throw fault }
        Console.complain("All files were read again.")
    }

    private static func line(_ item: JSONValue) -> String {
        let location = SourceLocation(
            file: item["file"]?.string ?? "", line: Int(item["line"]?.integer ?? 0),
            column: Int(item["column"]?.integer ?? 0))
        return ConfigurationProblem(
            at: location, path: item["path"]?.string ?? "", item["message"]?.string ?? ""
        ).description.printable
    }
}
