/// A failure that can be injected into the hub. Each injection affects one operation.
///
/// The raw value is the name in options and logs.
public enum HubFault: String, CaseIterable, Sendable {
    /// The next upsert fails permanently. `net6` responds with 200 although nothing is registered, the others with 500.
    case upsertFails = "upsert-fails"
    /// The next upsert fails because the hub is busy. `net6` responds with 503, the others with 500.
    case upsertBusy = "upsert-busy"
    /// The next upsert finds its registration lost. No backend responds with 410; it responds as to a permanent
    /// failure.
    case upsertGone = "upsert-gone"
    /// The next reservation of an id fails: 500.
    case reserveFails = "reserve-fails"
    /// The next lookup of a handle fails: 500.
    case lookUpFails = "look-up-fails"
    /// The next delete fails and the registration stays: 500.
    case deleteFails = "delete-fails"
    /// The next send fails and delivers nothing: 500.
    case sendFails = "send-fails"
}
