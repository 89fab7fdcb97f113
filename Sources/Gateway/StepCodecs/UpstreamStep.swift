internal import GatewayCore
internal import GatewaySupport

/// One request to the backend for a call or a sweep. Except for health checks, the gateway sends no other requests.
enum UpstreamStep: Sendable {
    /// Requests an id: the existing one of the handle, or a new one. If the ledger has the returned id for another
    /// handle, the gateway requests a new id without a handle.
    case reserve(handle: DeviceHandle?)
    /// Creates or overwrites the registration with an id.
    case upsert(RegistrationTarget, UpstreamRegistration)
    /// Deletes a registration.
    case delete(RegistrationID, owner: UserName)
    /// Sends to one recipient.
    case send(UpstreamSend)
    /// Cancels a scheduled send, by the backend's id of the notification.
    case cancel(notification: String)
}

extension UpstreamStep {
    /// The kind of a request, as far as backends treat kinds differently.
    enum Kind: Int, Sendable, CaseIterable {
        case registration
        case send
    }

    /// The kind of the step.
    var kind: Kind {
        switch self {
        case .reserve, .upsert, .delete: .registration
        case .send, .cancel: .send
        }
    }

    /// Whether the step may be sent again after the connection closed. A repeated send would notify twice, and a
    /// repeated reservation would leave unused ids behind.
    var isRetryable: Bool {
        switch self {
        case .upsert, .delete, .cancel: true
        case .reserve, .send: false
        }
    }
}

/// The registration id of an upsert.
enum RegistrationTarget: Sendable, Hashable {
    /// An id from the ledger.
    case known(RegistrationID)
    /// The id that the previous step returned.
    case reserved
}

/// The content of a registration at the backend.
struct UpstreamRegistration: Sendable, Hashable {
    var owner: UserName
    var handle: DeviceHandle
    /// The tags other than the owner's `username:` tag, which the backend adds.
    var tags: [Tag]
}

/// The content of a send at the backend.
struct UpstreamSend: Sendable, Hashable {
    var sender: UserName
    var recipient: UserName
    var service: PushService
    /// The content that `StepCodec.content(of:for:from:)` or `StepCodec.secureContent(id:for:)` returned.
    var content: [UInt8]
    /// The time of the delivery; nil for at once.
    var time: WallTime?
    /// Whether the content is that of a secure send.
    var isSecure = false
}

/// A step, and the alternative steps if the backend responds that the registration no longer exists.
struct PlannedStep: Sendable {
    var step: UpstreamStep
    var ifGone: [UpstreamStep] = []
}
