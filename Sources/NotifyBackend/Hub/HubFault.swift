/// A failure that the hub can be told to show, each kind once per injection.
///
/// The raw value is the word for options and logs.
public enum HubFault: String, CaseIterable, Sendable {
    /// The next upsert fails for good. `net6` answers 200 with nothing registered, the others 500.
    case upsertFails = "upsert-fails"
    /// The next upsert fails because the hub is busy. `net6` answers 503, the others 500.
    case upsertBusy = "upsert-busy"
    /// The next upsert finds its registration lost. No backend says 410: it is answered as a failure for good.
    case upsertGone = "upsert-gone"
    /// The next reservation of an id fails: 500.
    case reserveFails = "reserve-fails"
    /// The next look-up of a handle fails: 500.
    case lookUpFails = "look-up-fails"
    /// The next delete fails, the registration stays: 500.
    case deleteFails = "delete-fails"
    /// The next send fails and delivers nothing: 500.
    case sendFails = "send-fails"
}
