internal import NIOCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The credentials of the process at the other end of a Unix socket when it connected, as the kernel reports them
/// (unix(7), `SO_PEERCRED`).
struct PeerCredentials: Sendable {
    // The layout of `struct ucred`, which the headers declare for GNU sources only: three 32-bit numbers.
    private let processID: Int32
    /// The uid.
    let uid: UInt32
    private let groupID: UInt32

    /// Queries the credentials of a connection's peer. Fails if the channel is not a socket.
    static func of(_ channel: any Channel) -> EventLoopFuture<PeerCredentials> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return options.unsafeGetSocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
    }

    /// Whether this user may send requests: root and the gateway's own user.
    var isOperator: Bool { uid == 0 || uid == geteuid() }
}
