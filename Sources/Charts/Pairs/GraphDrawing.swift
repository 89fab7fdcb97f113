/// The geometry and the parts of a graph.
struct GraphDrawing {
    private static let header = 26.0
    private static let row = 24.0
    private static let barWidth = 6.0

    let width: Double
    let height: Double
    /// The sentence about arrows that are not drawn; nil if all are drawn.
    let note: String?

    private let grid: PairGrid
    private let links: PairLinks?
    private let labelWidth: Double
    private let showsNumbers: Bool
    private let bottom: Double
    private let arrows: [GraphArrow]
    private let senders: [GraphNode]
    private let recipients: [GraphNode]
    private let legendTexts: [String]
    private let legend: LegendFlow

    init(_ grid: PairGrid, links: PairLinks?, isCompact: Bool) {
        self.grid = grid
        self.links = links
        width = isCompact ? 328 : 720
        showsNumbers = !isCompact
        labelWidth = isCompact ? 96 : 190
        bottom = Self.header + Double(max(grid.rows.count, grid.columns.count, 2)) * Self.row
        let layout = GraphLayout(grid)
        senders = Self.nodes(layout.senders, grid.rows, bottom: bottom)
        recipients = Self.nodes(layout.recipients, grid.columns, bottom: bottom)
        let links = grid.links
        let all =
            links.filter { grid.isSinglePair($0.row, $0.column) }
            + links.filter { !grid.isSinglePair($0.row, $0.column) }
        let drawn = Array(all.prefix(GraphChart.maximumArrows))
        arrows = GraphArrow.arrows(drawn, in: grid, senders, recipients)
        let hidden = all.dropFirst(drawn.count).reduce(into: SendTally()) {
            $0.add($1.tally.sends, refused: $1.tally.refused)
        }
        note =
            hidden.sends > 0
            ? "Not drawn: \(NumberText.grouped(all.count - drawn.count)) pairs with \(hidden.text)" : nil
        legendTexts =
            ["more sends", "half or more refused"]
            + (note == nil ? [] : ["strongest \(drawn.count) of \(NumberText.grouped(all.count)) pairs"])
        legend = LegendFlow(legendTexts, origin: (4, bottom + 10), width: width - 8)
        height = bottom + 10 + legend.height + 4
    }

    /// Draws the headings, the arrows and the legend.
    func background(_ writer: inout SVGWriter) {
        writer.label(
            "Senders", .class("chart-label chart-heading"), .x(labelWidth - 8), .y(14), .text("text-anchor", "end"))
        writer.label("Recipients", .class("chart-label chart-heading"), .x(width - labelWidth + 8), .y(14))
        let left = labelWidth + Self.barWidth + 1
        let right = width - labelWidth - Self.barWidth - 1
        // The strongest last, so that they are on top.
        for arrow in arrows.reversed() {
            arrow.draw(from: left, to: right, title: grid.title(row: arrow.row, column: arrow.column), &writer)
        }
        drawLegend(&writer)
    }

    /// Draws the users, as links where there is an address.
    func nodes(_ writer: inout SVGWriter) {
        for node in senders { draw(node, grid.rows[node.line], isSender: true, &writer) }
        for node in recipients { draw(node, grid.columns[node.line], isSender: false, &writer) }
    }

    private func draw(_ node: GraphNode, _ line: PairGrid.Line, isSender: Bool, _ writer: inout SVGWriter) {
        let target = line.user.flatMap { LinkTarget(links?.user($0)) }
        if let target {
            writer.open("a", .class("chart-link"), .text("href", target.path))
        } else {
            writer.open("g")
        }
        let bar = isSender ? labelWidth : width - labelWidth - Self.barWidth
        let edge = isSender ? 1 : bar - 2
        writer.title("\(line.text.isolated) as \(isSender ? "sender" : "recipient"): \(line.tally.text)")
        writer.shape(
            "rect", .class(line.user == nil ? "chart-node chart-node-others" : "chart-node"), .x(bar),
            .y(node.y - node.extent / 2), .width(Self.barWidth), .height(node.extent), .number("rx", 2))
        label(node, line, isSender: isSender, &writer)
        if target != nil {
            writer.shape(
                "rect", .class("chart-hit"), .x(edge), .y(node.y - Self.row / 2),
                .width(labelWidth + Self.barWidth + 1), .height(Self.row), .number("rx", 3))
        }
        writer.close(target == nil ? "g" : "a")
    }

    /// Writes the name of a user, and between it and the bar the number of sends, in a column of its own.
    private func label(_ node: GraphNode, _ line: PairGrid.Line, isSender: Bool, _ writer: inout SVGWriter) {
        let anchor = SVGAttribute.text("text-anchor", isSender ? "end" : "start")
        let near = isSender ? labelWidth - 8 : width - labelWidth + 8
        var space = 0.0
        if showsNumbers {
            let count = NumberText.brief(line.tally.sends)
            space = max(30, TextWidth.of(count) * 12 + 8)
            writer.label(count, .class("chart-label chart-number chart-muted"), .x(near), .y(node.y + 4), anchor)
        }
        let names = line.user == nil ? "chart-label chart-others" : "chart-label chart-name"
        writer.label(
            line.text.fitted(to: (labelWidth - 12 - space) / 12), .class(names),
            .x(isSender ? near - space : near + space), .y(node.y + 4), anchor)
    }

    private func drawLegend(_ writer: inout SVGWriter) {
        for (index, place) in legend.places.enumerated() {
            let (x, y) = (place.x, place.y)
            if index == 0 {
                for (step, level) in [1, 3, 5].enumerated() {
                    var line = SVGPath()
                    line.move(x + Double(step) * 7, y)
                    line.line(x + Double(step) * 7 + 6, y)
                    writer.shape(
                        "path", .class("chart-arrow chart-arrow-\(level)"), .path(line),
                        .number("stroke-width", 1.2 * Double(level)))
                }
            } else if index == 1 {
                var line = SVGPath()
                line.move(x, y)
                line.line(x + 20, y)
                writer.shape("path", .class("chart-arrow chart-arrow-refused"), .path(line), .number("stroke-width", 3))
            }
            let indent = index < 2 ? LegendFlow.sampleWidth : 0
            writer.label(legendTexts[index], .class("chart-label chart-muted"), .x(x + indent), .y(y + 4))
        }
    }

    private static func nodes(_ order: [Int], _ lines: [PairGrid.Line], bottom: Double) -> [GraphNode] {
        let levels = LogLevels(maximum: lines.reduce(0) { max($0, $1.tally.sends) })
        let pitch = (bottom - header) / Double(max(1, order.count))
        return order.enumerated().map { place, line in
            GraphNode(
                line: line, y: header + (Double(place) + 0.5) * pitch,
                extent: 6 + 12 * levels.fraction(of: lines[line].tally.sends))
        }
    }
}
