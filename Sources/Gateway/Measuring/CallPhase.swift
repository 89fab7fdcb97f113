/// The phases of a call, as metrics name them.
enum CallPhase: String, Sendable, CaseIterable {
    case parse
    case identify
    case authorize
    case limit
    case rewrite
    case record
    case forward
    case settle
    /// What the gateway answers itself, in place of both.
    case answer

    /// Its place among all.
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
