/// A graph of who notified whom: senders on the left, recipients on the right, an arrow for each pair.
///
/// An arrow is the wider, the more sends there were, on a logarithmic scale. It is dashed if at least half of them were
/// refused. A user who sends and receives is on both sides.
package struct GraphChart: Chart {
    /// The number of single users on each side.
    package static let maximumNodes = 19
    /// The number of single users on each side in a compact layout, which has no space for their numbers.
    package static let maximumCompactNodes = 11
    /// The number of arrows. The pairs with the fewest sends beyond it are not drawn, and the picture says so.
    package static let maximumArrows = 120

    private let pairs: [PairCount]
    private let links: PairLinks?

    /// Creates a graph.
    ///
    /// - Parameters:
    ///   - pairs: a pair that occurs twice is summed. The first 50,000 are told apart by their users.
    ///   - links: the addresses of users; nil for a picture without links.
    package init(_ pairs: [PairCount], links: PairLinks? = nil) {
        self.pairs = pairs
        self.links = links
    }

    /// The pairs of the regular layout, also those that are not drawn.
    package var table: ChartTable {
        PairGrid(pairs, maximumRows: Self.maximumNodes, maximumColumns: Self.maximumNodes).table
    }

    /// Returns the picture.
    package func svg(_ frame: ChartFrame) -> String {
        let maximum = frame.isCompact ? Self.maximumCompactNodes : Self.maximumNodes
        let grid = PairGrid(pairs, maximumRows: maximum, maximumColumns: maximum)
        guard grid.total.sends > 0 else {
            return EmptyPicture(kind: "chart-graph", height: 120, text: "No sends").svg(frame)
        }
        let drawing = GraphDrawing(grid, links: links, isCompact: frame.isCompact)
        let picture = Picture(
            kind: "chart-graph", width: drawing.width, height: drawing.height,
            description: grid.description + (drawing.note.map { " \($0)." } ?? ""))
        guard links != nil else {
            return picture.svg(frame) { writer in
                drawing.background(&writer)
                drawing.nodes(&writer)
            }
        }
        return picture.svg(frame, drawing: drawing.background, links: drawing.nodes)
    }
}
