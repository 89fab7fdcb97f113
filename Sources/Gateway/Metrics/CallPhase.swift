/// The phases of a call, as named in metrics.
enum CallPhase: String, Sendable, CaseIterable {
    case parse
    case identify
    case authorize
    case deduplicate
    case limit
    case rewrite
    case record
    case forward
    case complete
    /// The gateway's own endpoints, in place of `forward` and `complete`.
    case respond

    /// The index in tables with one element for each phase.
    var index: Int {
        switch self {
        case .parse: 0
        case .identify: 1
        case .authorize: 2
        case .deduplicate: 3
        case .limit: 4
        case .rewrite: 5
        case .record: 6
        case .forward: 7
        case .complete: 8
        case .respond: 9
        }
    }
}
