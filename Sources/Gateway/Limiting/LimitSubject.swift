internal import GatewayCore

/// What limits count a call by. What is nil is not known, and limits by it do not count the call.
struct LimitSubject: Sendable {
    /// Who calls.
    var user: UserName?
    /// The groups that the caller is in.
    var groups: Set<GroupName> = []
    /// Where the call comes from, as limits count addresses.
    var address: Peer.Address?
    /// Whether it is a send.
    var isSend = false
    /// Whom a send is for.
    var recipient: UserName?
    /// The service of a send.
    var service: PushService?

    init() {}

    /// A call that somebody makes.
    init(_ caller: Identity, at peer: Peer) {
        user = caller.user
        groups = caller.groups
        address = peer.limitKey
    }

    /// A send to one user, or where it is nil another call.
    init(_ caller: Identity, at peer: Peer, sending send: RequestedSend?) {
        user = caller.user
        groups = caller.groups
        address = peer.limitKey
        guard let send else { return }
        isSend = true
        recipient = send.recipient
        service = send.service
    }

    /// A send to an audience: no recipient, as long as none of its members is meant.
    init(_ caller: Identity, at peer: Peer, sending send: RequestedAudienceSend) {
        self.init(caller, at: peer)
        isSend = true
        service = send.service
    }
}
