internal import NIOCore

/// The limits of the control socket.
package struct ControlSettings: Sendable {
    /// The maximum number of connections that are served.
    var connections = 16
    /// The maximum number of further connections that receive a rejection. Others are closed without a response.
    var rejectedConnections = 16
    /// The time limit for the complete request, from the connect.
    var request: TimeAmount = .seconds(5)
    /// The time limit for a peer to read a line, after which the connection is closed.
    var write: TimeAmount = .seconds(30)
    /// The time limit for running operations when the gateway stops.
    var stop: TimeAmount = .seconds(5)

    /// Creates the usual limits.
    package init() {}
}
