/// A failure that a test can inject into the hub. Each injection causes one failure.
///
/// The raw value is the word in options and logs.
public enum HubFault: String, CaseIterable, Sendable {
    /// The next upsert fails permanently. `net6` responds 200 without a registration, the other flavours 500.
    case upsertFails = "upsert-fails"
    /// The next upsert fails because the hub is busy. `net6` responds 503, the other flavours 500.
    case upsertBusy = "upsert-busy"
    /// The next upsert finds its registration expired. No backend responds 410; it responds as to a permanent
    /// failure.
    case upsertGone = "upsert-gone"
    /// The next reservation of an id fails: 500.
    case reserveFails = "reserve-fails"
    /// The next look-up of a handle fails: 500.
    case lookUpFails = "look-up-fails"
    /// The next delete fails with 500 and the registration stays.
    case deleteFails = "delete-fails"
    /// The next send fails with 500 and delivers nothing.
    case sendFails = "send-fails"
}
