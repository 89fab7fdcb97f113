/// The order of the nodes of a graph with two columns, so that few edges cross. Deterministic, without randomness.
///
/// Each side is sorted in turn by the weighted mean place of its partners (the barycentre heuristic of Sugiyama, Tagawa
/// and Toda, 1981), a fixed number of times. The group of the others stays last.
struct GraphLayout: Sendable {
    private static let sweeps = 8

    /// Rows and columns of the grid, from top to bottom.
    let senders: [Int]
    let recipients: [Int]

    init(_ grid: PairGrid) {
        var senders = Array(grid.rows.indices)
        var recipients = Array(grid.columns.indices)
        for _ in 0..<Self.sweeps {
            recipients = Self.sorted(
                recipients, by: senders, isOthers: { grid.columns[$0].user == nil },
                weight: { Self.weight(of: grid[$1, $0]) })
            senders = Self.sorted(
                senders, by: recipients, isOthers: { grid.rows[$0].user == nil },
                weight: { Self.weight(of: grid[$0, $1]) })
        }
        self.senders = senders
        self.recipients = recipients
    }

    /// The square root, so that one heavy pair does not hide where the other partners are.
    private static func weight(of tally: SendTally) -> Double { Double(tally.sends).squareRoot() }

    private static func sorted(
        _ nodes: [Int], by partners: [Int], isOthers: (Int) -> Bool, weight: (Int, Int) -> Double
    ) -> [Int] {
        let keyed = nodes.enumerated().map { place, node in
            var sum = 0.0
            var weights = 0.0
            for (partnerPlace, partner) in partners.enumerated() {
                let weight = weight(node, partner)
                sum += weight * (Double(partnerPlace) + 0.5) / Double(partners.count)
                weights += weight
            }
            let mean = isOthers(node) ? .infinity : weights > 0 ? sum / weights : 1
            return (mean: mean, place: place, node: node)
        }
        return keyed.sorted { ($0.mean, $0.place) < ($1.mean, $1.place) }.map(\.node)
    }
}
