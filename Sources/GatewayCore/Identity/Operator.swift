/// The person who requests an operation of the gateway.
public enum Operator: Sendable, Hashable, CustomStringConvertible {
    /// A process on this machine, by its uid as the kernel reports it: a client of the control socket.
    case process(uid: UInt32)
    /// A user who is logged in to the operator console, and the client's address.
    case user(UserName, Peer)

    /// The address for journal records.
    public var peer: Peer {
        switch self {
        case .process: .control
        case .user(_, let peer): peer
        }
    }

    /// The uid, or the name of the user.
    public var description: String {
        switch self {
        case .process(let uid): "\(uid)"
        case .user(let user, _): user.text
        }
    }
}
