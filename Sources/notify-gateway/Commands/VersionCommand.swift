import ArgumentParser

/// `version`: prints the version.
struct VersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Print the version.", discussion: "Example: notify-gateway version")

    func run() async throws { try Console.printResult("notify-gateway \(Version.text)") }
}
