import GatewayTesting

extension TestFiles {
    /// Where the process of a test listens.
    var socket: String { "\(path)/socket" }
}
