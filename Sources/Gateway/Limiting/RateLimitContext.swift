internal import GatewayCore

/// The caller and the kind of call that the limit fields are computed for.
struct RateLimitContext {
    let caller: Identity
    let isSend: Bool

    init(_ identified: borrowing AuthenticatedCall) {
        caller = identified.caller
        isSend = identified.call.isSend
    }
}
