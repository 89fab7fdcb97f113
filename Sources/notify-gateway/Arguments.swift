public import ArgumentParser
public import GatewayCore
import GatewaySupport

extension Duration: @retroactive ExpressibleByArgument {
    /// Parses a duration as the configuration writes it, such as `30min`.
    public init?(argument: String) { self.init(configured: argument) }
}

extension GroupName: ExpressibleByArgument {
    /// Parses the name of a group.
    public init?(argument: String) { self.init(argument) }
}
