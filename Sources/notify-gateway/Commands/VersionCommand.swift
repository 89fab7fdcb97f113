import ArgumentParser

/// `version`: what this is.
struct VersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Print the version.", discussion: "Example: notify-gateway version")

    func run() async throws { try Console.say("notify-gateway \(Version.text)") }
}
