internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A parsed call: one of the operations that the gateway supports, with valid parameters.
enum Call: Sendable {
    /// A device creates, updates or deletes its registration.
    case registration(RegistrationCall)
    /// One user notifies another. The position that the sender states is for fences only; it is neither recorded nor
    /// forwarded, and an authorized send does not have it any more.
    case send(RequestedSend, at: Position?)
    /// One user notifies all members of an audience, with a position as above.
    case sendToAudience(RequestedAudienceSend, at: Position?)
    /// A call to one of the gateway's own endpoints.
    case local(LocalCall)

    /// Whether the call is a send.
    var isSend: Bool {
        switch self {
        case .send, .sendToAudience: true
        case .registration, .local: false
        }
    }
}

/// A call of a device about its registration. A label is the id that the device presents; the ledger decides which
/// registration of the caller it refers to.
enum RegistrationCall: Sendable {
    /// Requests a registration id, with or without the device's handle.
    case create(handle: DeviceHandle?)
    /// Creates or updates the registration under the id that the device presents.
    case update(label: RegistrationID, RequestedRegistration)
    /// Deletes the registration with the id that the device presents.
    case delete(label: RegistrationID)
}

/// A call to one of the gateway's own endpoints, without the backend.
enum LocalCall: Sendable, Hashable {
    /// Returns the caller's identity.
    case whoami
    /// Exchanges a password, a token of an identity provider, or a token of the same session, for a token.
    case issueToken(device: DeviceLabel?)
    /// Revokes the presented token and closes its session.
    case deleteToken
    /// Lists the caller's registrations.
    case listRegistrations
    /// Lists the notifications that the caller received, from an earliest time and up to a maximum number.
    case listReceived(since: WallTime?, limit: Int)
    /// Reads the text of a secure notification; nil stands for a malformed id.
    case fetchNotification(SecureID?)
    /// Lists the caller's secure notifications that were not fetched, from an earliest time and up to a maximum number.
    case listNotifications(since: WallTime?, limit: Int)
    /// Lists the caller's sessions.
    case listSessions
    /// Closes one of the caller's sessions.
    case deleteSession(SessionID)
    /// Ends sessions on behalf of an identity provider, by its logout token. The only call without a caller.
    case providerLogout(token: ByteBuffer)
    /// Cancels a scheduled send, by the unchecked reference that the sender got.
    case cancelSend(reference: String)
}

/// The parameters of a registration. The tags are unchecked text; the policy decides which are registered.
struct RequestedRegistration: Sendable, Hashable {
    var handle: DeviceHandle
    var tags: [String]
}

/// The parameters of a send to an audience. The policy decides whether the audience exists.
struct RequestedAudienceSend: Sendable, Hashable {
    var service: PushService
    var audience: AudienceName
    var text: String
    /// The idempotency key, if the request has one.
    var key: IdempotencyKey?
    /// Whether the push contains an id in place of the text. Until *authorize*, whether the sender asks for that.
    var isSecure = false
}

/// The parameters of a send to one user.
struct RequestedSend: Sendable, Hashable {
    var service: PushService
    var recipient: UserName
    var text: String
    /// The idempotency key, if the request has one.
    var key: IdempotencyKey?
    /// Whether the push contains an id in place of the text. Until *authorize*, whether the sender asks for that.
    var isSecure = false
}

/// The value of `Idempotency-Key`, by which a sender identifies a send: 1–255 visible ASCII characters.
struct IdempotencyKey: Sendable, Hashable {
    static let maximumLength = 255

    let bytes: [UInt8]

    /// Reads the key of a request; returns nil if there is none.
    static func read(_ field: ReceivedRequest.FieldValue) throws(Rejection) -> IdempotencyKey? {
        switch field {
        case .absent: return nil
        case .repeated: throw Rejection(.malformedRequest, "Idempotency-Key is repeated")
        case .single(let value):
            let bytes = Array(value.readableBytesView)
            guard (1...maximumLength).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw Rejection(
                    .malformedRequest, "Idempotency-Key is malformed",
                    hint: "Idempotency-Key must have 1 to 255 visible ASCII characters.")
            }
            return IdempotencyKey(bytes: bytes)
        }
    }
}
