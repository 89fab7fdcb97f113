internal import GatewayCore

/// One of the calls that the gateway knows, its parameters within their grammars. What is not one of these goes nowhere.
enum Call: Sendable {
    /// A device asks for a registration id, perhaps saying its handle.
    case create(handle: DeviceHandle?)
    /// A device registers under the id that it remembers.
    case update(label: RegistrationID, RequestedRegistration)
    /// A device gives up the registration that its id means to it.
    case delete(label: RegistrationID)
    /// One user notifies another.
    case send(RequestedSend)
    /// One user notifies all of an audience.
    case sendToAudience(RequestedAudienceSend)
    /// Something that the gateway answers itself.
    case own(OwnCall)

    /// Whether somebody is notified by it.
    var isSend: Bool {
        switch self {
        case .send, .sendToAudience: true
        case .create, .update, .delete, .own: false
        }
    }
}

/// A call that the backend knows nothing of.
enum OwnCall: Sendable, Hashable {
    /// The caller asks who it is.
    case whoami
    /// A password, or a token of the same session, is exchanged for a token.
    case issueToken(device: DeviceLabel?)
    /// The caller gives up the token that it presents, and the session with it.
    case endToken
    /// The caller asks which devices are registered for it.
    case listRegistrations
    /// The caller asks who notified it: not before a time, so many at most.
    case listReceived(since: WallTime?, limit: Int)
    /// The caller asks where it is logged in.
    case listSessions
    /// The caller ends a session of its own.
    case endSession(SessionID)
}

/// What a device wants registered. The tags are as the client sent them: whether they may be registered is for policy.
struct RequestedRegistration: Sendable, Hashable {
    var handle: DeviceHandle
    var tags: [String]
}

/// What a sender wants delivered to an audience. Whether there is such an audience is for policy.
struct RequestedAudienceSend: Sendable, Hashable {
    var service: PushService
    var audience: AudienceName
    var text: String
    /// By which the sender knows the send again.
    var key: IdempotencyKey?
}

/// What a sender wants delivered.
struct RequestedSend: Sendable, Hashable {
    var service: PushService
    var recipient: UserName
    var text: String
    /// By which the sender knows the send again.
    var key: IdempotencyKey?
}
