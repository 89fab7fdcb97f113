public import GatewayCore
internal import Synchronization

/// The events of the stores and the backend, in order. The test doubles of one test share it, so that the test can
/// check the order.
public final class Timeline: Sendable {
    /// An event of a test double.
    public enum Event: Sendable {
        /// The journal wrote these records durably.
        case recorded([JournalRecord])
        /// The journal failed to write these records.
        case recordRejected([JournalRecord])
        /// The journal was given this record without waiting.
        case noted(JournalRecord)
        /// The texts of secure notifications with these ids were stored.
        case textStored([SecureID])
        /// The backend received this request.
        case exchanged(CapturedRequest)
        /// The ledger created a claim.
        case claimed(LedgerRequest)
        /// The ledger was told that the backend will be sent a registration with the id.
        case prepared(LedgerRequest, RegistrationID)
        /// The ledger was told the result of a claim.
        case changed(LedgerRequest, LedgerChange)
        /// A claim ended, with or without a change.
        case released(LedgerRequest)
    }

    private let happened = Mutex<[Event]>([])

    /// Creates an empty timeline.
    public init() {}

    /// The events so far.
    public var events: [Event] { happened.withLock { $0 } }

    /// The kinds of the events, one word each, for tests of the order alone.
    public var words: [String] {
        events.map { event in
            switch event {
            case .recorded: "recorded"
            case .recordRejected: "record-refused"
            case .noted(let record): record.kind.rawValue
            case .textStored: "text-stored"
            case .exchanged: "exchanged"
            case .claimed: "claimed"
            case .prepared: "prepared"
            case .changed: "changed"
            case .released: "released"
            }
        }
    }

    func add(_ event: Event) { happened.withLock { $0.append(event) } }
}
