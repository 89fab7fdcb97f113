internal import NIOCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Who is at the other end of a Unix socket, as the kernel says: what it was when it connected (unix(7), `SO_PEERCRED`).
struct PeerCredentials: Sendable {
    // `struct ucred`, which the system's headers show to GNU sources only: three numbers of 32 bits.
    private let processID: Int32
    /// The user.
    let uid: UInt32
    private let groupID: UInt32

    /// Asks for the peer of a connection; fails where the channel is no socket.
    static func of(_ channel: any Channel) -> EventLoopFuture<PeerCredentials> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return options.unsafeGetSocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
    }

    /// Whether this user may give the gateway orders: the gateway's own, and root.
    var isOperator: Bool { uid == 0 || uid == geteuid() }
}
