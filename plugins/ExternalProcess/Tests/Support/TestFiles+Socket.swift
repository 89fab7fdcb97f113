import GatewayTesting

extension TestFiles {
    /// The path of the process's socket.
    var socket: String { "\(path)/socket" }
}
