import ArgumentParser
import GatewayCore
import GatewayServer

/// Where the configuration is: the same option for every command that reads it.
struct ConfigurationOption: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The configuration.", valueName: "file"))
    var config: String = ConfigurationFile.standardPath

    /// The configuration; its problems go to standard error, and an error among them ends the command.
    func load() throws -> ServerConfiguration {
        let (configuration, problems) = ConfigurationFile.load(config, catalog: .all)
        for problem in problems { Console.complain(problem.description) }
        guard let configuration else {
            throw CommandFailure.refused("The configuration has errors; nothing was started.")
        }
        return configuration
    }

    /// The settings of the first authenticator of the kind; without any the command cannot go on.
    func settings<Plugin: AuthenticatorPlugin>(of plugin: Plugin.Type) throws -> Plugin.Settings {
        let (settings, problems) = ConfigurationFile.settings(of: plugin, in: config)
        if let settings { return settings }
        for problem in problems { Console.complain(problem.description) }
        throw CommandFailure.refused("\(config) configures no usable \(plugin.name).")
    }
}
