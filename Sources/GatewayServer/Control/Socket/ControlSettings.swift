internal import NIOCore

/// What the control socket grants a peer.
struct ControlSettings: Sendable {
    /// How many connections are served at once.
    var connections = 16
    /// How many more are told that they are not served; all others are closed without a word.
    var turnedAway = 16
    /// For a request to come whole, from when it was connected.
    var request: TimeAmount = .seconds(5)
    /// For a peer to read a line, before the connection is cut.
    var write: TimeAmount = .seconds(30)
    /// For operations under way to end, once the gateway stops.
    var stop: TimeAmount = .seconds(5)
}
