public import ArgumentParser
public import GatewayCore

extension Duration: @retroactive ExpressibleByArgument {
    /// A time as configurations have it, such as `30min`.
    public init?(argument: String) { self.init(configured: argument) }
}

extension GroupName: ExpressibleByArgument {
    /// A group's name.
    public init?(argument: String) { self.init(argument) }
}
