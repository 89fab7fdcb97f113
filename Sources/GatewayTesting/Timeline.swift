public import GatewayCore
internal import Synchronization

/// What happened to stores and backend, in the order in which it did. Shared by the doubles of one test, so that a test can
/// say that one thing came before another.
public final class Timeline: Sendable {
    /// One thing that happened.
    public enum Event: Sendable {
        /// The journal was asked to write these, durably, and did.
        case recorded([JournalRecord])
        /// The journal was asked to write these, durably, and refused.
        case recordRefused([JournalRecord])
        /// The journal was given this without a wait.
        case noted(JournalRecord)
        /// The backend saw this.
        case exchanged(SeenRequest)
        /// The ledger was asked, and a claim was given.
        case claimed(LedgerRequest)
        /// The ledger was told that the backend is about to be asked to register under the id.
        case prepared(LedgerRequest, RegistrationID)
        /// The ledger was told what became of a claim.
        case changed(LedgerRequest, LedgerChange)
        /// A claim ended, changed or not.
        case released(LedgerRequest)
    }

    private let happened = Mutex<[Event]>([])

    /// Nothing yet.
    public init() {}

    /// All so far.
    public var events: [Event] { happened.withLock { $0 } }

    /// The kinds of the events, one word each, for a test that is about the order alone.
    public var words: [String] {
        events.map { event in
            switch event {
            case .recorded: "recorded"
            case .recordRefused: "record-refused"
            case .noted(let record): record.kind.rawValue
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
