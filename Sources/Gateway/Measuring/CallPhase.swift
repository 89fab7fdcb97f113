/// The phases of a call, as named in metrics.
enum CallPhase: String, Sendable, CaseIterable {
    case parse
    case identify
    case authorize
    case limit
    case rewrite
    case record
    case forward
    case settle
    /// The gateway's own endpoints, in place of `forward` and `settle`.
    case answer

    /// The index in tables with one element for each phase.
    var index: Int {
        switch self {
        case .parse: 0
        case .identify: 1
        case .authorize: 2
        case .limit: 3
        case .rewrite: 4
        case .record: 5
        case .forward: 6
        case .settle: 7
        case .answer: 8
        }
    }
}
