/// A matrix of who notified whom: senders are rows, recipients are columns.
///
/// A cell's square is the larger and darker, the more sends there were, in five levels on a logarithmic scale. The
/// corner of a cell is cut by a triangle whose area is the share of refused sends. The picture has its natural size:
/// the page puts it into an element with the class `chart-scroll`.
package struct MatrixChart: Chart {
    /// The number of rows, and of columns, for single users in a regular layout.
    package static let maximumLines = 24
    /// The number of columns for single users in a compact layout.
    package static let maximumCompactColumns = 7

    private let pairs: [PairCount]
    private let links: PairLinks?

    /// Creates a matrix.
    ///
    /// - Parameters:
    ///   - pairs: a pair that occurs twice is summed. The first 50,000 are told apart by their users.
    ///   - links: the addresses of cells and users; nil for a picture without links.
    package init(_ pairs: [PairCount], links: PairLinks? = nil) {
        self.pairs = pairs
        self.links = links
    }

    /// The cells with sends, grouped as in the regular layout.
    package var table: ChartTable {
        PairGrid(pairs, maximumRows: Self.maximumLines, maximumColumns: Self.maximumLines).table
    }

    /// Returns the picture.
    package func svg(_ frame: ChartFrame) -> String {
        let grid = PairGrid(
            pairs, maximumRows: Self.maximumLines,
            maximumColumns: frame.isCompact ? Self.maximumCompactColumns : Self.maximumLines)
        guard grid.total.sends > 0 else {
            return EmptyPicture(kind: "chart-matrix", height: 120, text: "No sends").svg(frame)
        }
        let drawing = MatrixDrawing(grid, links: links, isCompact: frame.isCompact)
        let picture = Picture(
            kind: "chart-matrix", width: drawing.width, height: drawing.height, description: grid.description)
        guard links != nil else {
            return picture.svg(frame) { writer in
                drawing.background(&writer)
                drawing.cells(&writer)
            }
        }
        return picture.svg(frame, drawing: drawing.background, links: drawing.cells)
    }
}
