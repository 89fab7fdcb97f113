internal import GatewayCore

/// The caller and the kind of call that the limit fields are computed for.
struct RateLimitContext {
    let caller: Identity
    let isSend: Bool

    init(_ authenticated: borrowing AuthenticatedCall) {
        caller = authenticated.caller
        isSend = authenticated.call.isSend
    }
}
