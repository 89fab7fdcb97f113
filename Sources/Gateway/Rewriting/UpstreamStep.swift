internal import GatewayCore

/// One thing asked of the backend: the closed set of what the gateway ever asks.
enum UpstreamStep: Sendable {
    /// Give an id: one that is registered for the handle already, or a new one. Given with a handle, an id that the ledger has for
    /// another handle is not used, and the backend is asked again without.
    case reserve(handle: DeviceHandle?)
    /// Register under an id.
    case upsert(RegistrationTarget, UpstreamRegistration)
    /// Delete the registration.
    case delete(RegistrationID, owner: UserName)
    /// Send to one recipient.
    case send(UpstreamSend)
}

/// Under which id to register.
enum RegistrationTarget: Sendable, Hashable {
    /// One that the ledger has.
    case known(RegistrationID)
    /// The one that the step before was given.
    case reserved
}

/// A registration as the backend is told of it.
struct UpstreamRegistration: Sendable, Hashable {
    var owner: UserName
    var handle: DeviceHandle
    /// Beyond the owner's own tag, which the backend adds.
    var tags: [Tag]
}

/// A send as the backend is told of it.
struct UpstreamSend: Sendable, Hashable {
    var sender: UserName
    var recipient: UserName
    var service: PushService
    /// Escaped for the payload.
    var text: [UInt8]
}

/// A step, and the steps that follow if the backend answers that what it is about is gone.
struct PlannedStep: Sendable {
    var step: UpstreamStep
    var ifGone: [UpstreamStep] = []
}
