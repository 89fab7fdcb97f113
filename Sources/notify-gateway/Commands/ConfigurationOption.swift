import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewaySupport

/// The option for the path of the configuration, shared by all commands that read it.
struct ConfigurationOption: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config: String = ConfigurationFile.standardPath

    /// Returns the configuration. Prints its problems to standard error. An error among them ends the command.
    func load() throws -> ServerConfiguration {
        let (configuration, problems) = ConfigurationFile.load(config, catalog: .all)
        for problem in problems { Console.printMessage(problem.description) }
        guard let configuration else {
            throw CommandFailure.refused("The configuration has errors; nothing was started.")
        }
        return configuration
    }

    /// Returns the settings of the first authenticator of a kind. Without one, the command fails.
    func settings<Plugin: AuthenticatorPlugin>(of plugin: Plugin.Type) throws -> Plugin.Settings {
        let (settings, problems) = ConfigurationFile.settings(of: plugin, in: config)
        if let settings { return settings }
        for problem in problems { Console.printMessage(problem.description) }
        throw CommandFailure.refused("\(config) contains no \(plugin.name) authenticator with valid settings.")
    }
}
