internal import GatewayCore

/// The properties of a call that limits count by. A limit does not count a call for which one of its properties is nil.
struct LimitSubject: Sendable {
    /// The caller.
    var user: UserName?
    /// The groups of the caller.
    var groups: Set<GroupName> = []
    /// The address that limits count by (see `Peer.limitKey`).
    var address: Peer.Address?
    /// Whether the call is a send.
    var isSend = false
    /// The recipient of a send.
    var recipient: UserName?
    /// The push service of a send.
    var service: PushService?

    init() {}

    /// Creates the subject of a call that is not a send.
    init(_ caller: Identity, at peer: Peer) {
        user = caller.user
        groups = caller.groups
        address = peer.limitKey
    }

    /// Creates the subject of a send to one user, or of another call if `send` is nil.
    init(_ caller: Identity, at peer: Peer, sending send: RequestedSend?) {
        user = caller.user
        groups = caller.groups
        address = peer.limitKey
        guard let send else { return }
        isSend = true
        recipient = send.recipient
        service = send.service
    }

    /// Creates the subject of a send to an audience, without a recipient. The caller sets the recipient for each
    /// member.
    init(_ caller: Identity, at peer: Peer, sending send: RequestedAudienceSend) {
        self.init(caller, at: peer)
        isSend = true
        service = send.service
    }
}
