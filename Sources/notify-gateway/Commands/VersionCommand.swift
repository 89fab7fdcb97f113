import ArgumentParser

/// `version`: what this is.
struct VersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    func run() async throws { try Console.say("notify-gateway \(Version.text)") }
}
