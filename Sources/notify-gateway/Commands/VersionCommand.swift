import ArgumentParser

/// `version`: what this is.
struct VersionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "version", abstract: "Print the version.")

    func run() async throws { Console.say("notify-gateway \(Version.text)") }
}
