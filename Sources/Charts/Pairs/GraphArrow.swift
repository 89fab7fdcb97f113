/// A user at one side of a graph.
struct GraphNode: Sendable {
    /// The row or column of the grid.
    let line: Int
    /// The middle of the bar.
    let y: Double
    /// The height of the bar.
    let extent: Double
}

/// The arrow of one pair in a graph.
struct GraphArrow: Sendable {
    let row: Int
    let column: Int
    private let tally: SendTally
    /// The class of the colour.
    private let style: String
    private let width: Double
    /// Where the arrow leaves the sender and reaches the recipient.
    private var from = 0.0
    private var to = 0.0

    /// Returns the arrows in the order of the links. The arrows of a node share the height of its bar, in the order of
    /// their other ends, so that they do not cross beside it.
    static func arrows(
        _ links: [PairGrid.Link], in grid: PairGrid, _ senders: [GraphNode], _ recipients: [GraphNode]
    ) -> [GraphArrow] {
        let levels = LogLevels(maximum: grid.maximum)
        var arrows = links.map { link in
            let isSingle = grid.isSinglePair(link.row, link.column)
            return GraphArrow(
                row: link.row, column: link.column, tally: link.tally,
                style: isSingle ? style(link.tally, levels) : "chart-arrow-others",
                width: isSingle ? 1.2 + 3.8 * levels.fraction(of: link.tally.sends) : 1.5)
        }
        var heights: (senders: [Int: Double], recipients: [Int: Double]) = ([:], [:])
        for node in senders { heights.senders[node.line] = node.y }
        for node in recipients { heights.recipients[node.line] = node.y }
        let byRow = Dictionary(grouping: arrows.indices) { arrows[$0].row }
        for node in senders {
            let ports = (byRow[node.line] ?? []).sorted {
                (heights.recipients[arrows[$0].column] ?? 0, $0) < (heights.recipients[arrows[$1].column] ?? 0, $1)
            }
            for (place, index) in ports.enumerated() { arrows[index].from = port(place, of: ports.count, at: node) }
        }
        let byColumn = Dictionary(grouping: arrows.indices) { arrows[$0].column }
        for node in recipients {
            let ports = (byColumn[node.line] ?? []).sorted {
                (heights.senders[arrows[$0].row] ?? 0, $0) < (heights.senders[arrows[$1].row] ?? 0, $1)
            }
            for (place, index) in ports.enumerated() { arrows[index].to = port(place, of: ports.count, at: node) }
        }
        return arrows
    }

    /// Draws a curve and an arrow head.
    func draw(from left: Double, to right: Double, title: String, _ writer: inout SVGWriter) {
        let head = 5.5 + width
        let end = right - head
        let bend = (end - left) * 0.45
        var curve = SVGPath()
        curve.move(left, from)
        curve.curve(left + bend, from, end - bend, to, to: (end, to))
        var tip = SVGPath()
        tip.move(right, to)
        tip.line(end, to - head * 0.55)
        tip.line(end, to + head * 0.55)
        tip.close()
        writer.open("g")
        writer.title(title)
        // A wider line in the colour of the surface separates the arrow from those that it crosses.
        writer.shape("path", .class("chart-arrow-edge"), .path(curve), .number("stroke-width", width + 2))
        writer.shape(
            "path", .class("chart-arrow \(style)"), .path(curve), .number("stroke-width", width))
        writer.shape("path", .class("chart-arrow-head \(style)"), .path(tip))
        writer.close("g")
    }

    private static func style(_ tally: SendTally, _ levels: LogLevels) -> String {
        tally.refusedShare >= 0.5 ? "chart-arrow-refused" : "chart-arrow-\(levels.level(of: tally.sends))"
    }

    private static func port(_ place: Int, of count: Int, at node: GraphNode) -> Double {
        let space = max(0, node.extent - 4)
        return count < 2 ? node.y : node.y - space / 2 + space * Double(place) / Double(count - 1)
    }
}
