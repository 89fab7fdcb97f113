/// The geometry and the parts of a matrix.
struct MatrixDrawing {
    private static let cell = 24.0
    private static let othersGap = 6.0

    let width: Double
    let height: Double

    private let grid: PairGrid
    private let links: PairLinks?
    private let levels: LogLevels
    private let labelWidth: Double
    private let header: Double
    private let totalsWidth: Double
    private let corner: String
    private let legendTexts: [String]
    private let legend: LegendFlow

    init(_ grid: PairGrid, links: PairLinks?, isCompact: Bool) {
        self.grid = grid
        self.links = links
        levels = LogLevels(maximum: grid.maximum)
        labelWidth = isCompact ? 92 : 150
        let longest = grid.columns.reduce(TextWidth.of("total")) { max($0, TextWidth.of($1.text.full)) }
        header = min(isCompact ? 76 : 92, max(44, longest * 12 * 0.71 + 20))
        corner = isCompact ? "from ↓  to →" : "sender ↓  recipient →"
        totalsWidth = isCompact ? 0 : 72
        let right = labelWidth + Self.extent(of: grid.columns) + (isCompact ? 38 : totalsWidth)
        width = max(isCompact ? 328 : 600, right)
        let bottom = header + Self.extent(of: grid.rows)
        var texts = levels.ranges.map { range in
            let lower = NumberText.grouped(range.counts.lowerBound)
            let upper = NumberText.grouped(range.counts.upperBound)
            return lower == upper ? lower : "\(lower)–\(upper)"
        }
        if grid.hasMoreThanMaximum, let last = levels.ranges.last {
            texts[texts.count - 1] = "\(NumberText.grouped(last.counts.lowerBound)) or more"
        }
        texts[texts.count - 1] += texts.last == "1" ? " send" : " sends"
        texts.append("corner: share refused")
        legendTexts = texts
        legend = LegendFlow(texts, origin: (4, bottom + 12), width: width - 8)
        height = bottom + 12 + legend.height + 4
    }

    /// Draws the headings, the tiles behind the cells and the legend.
    func background(_ writer: inout SVGWriter) {
        tiles(&writer)
        headings(&writer)
        drawLegend(&writer)
    }

    /// Draws the cells with sends.
    func cells(_ writer: inout SVGWriter) {
        for row in grid.rows.indices {
            for column in grid.columns.indices where grid[row, column].sends > 0 {
                cell(row, column, &writer)
            }
        }
    }

    private func cell(_ row: Int, _ column: Int, _ writer: inout SVGWriter) {
        let x = labelWidth + Self.offset(of: column, in: grid.columns)
        let y = header + Self.offset(of: row, in: grid.rows)
        var target: LinkTarget?
        if let sender = grid.rows[row].user, let recipient = grid.columns[column].user {
            target = LinkTarget(links?.pair(sender, recipient))
        }
        if let target {
            writer.open("a", .class("chart-link"), .text("href", target.path))
        } else {
            writer.open("g")
        }
        writer.title(grid.title(row: row, column: column))
        let tally = grid[row, column]
        square(levels.level(of: tally.sends), isSingle: grid.isSinglePair(row, column), x, y, &writer)
        if tally.refused > 0 { triangle(tally.refusedShare, x, y, &writer) }
        // On top, so that nothing covers the ring around a link that has the focus.
        if target != nil {
            writer.shape("rect", .class("chart-hit"), .x(x), .y(y), .width(Self.cell), .height(Self.cell))
        }
        writer.close(target == nil ? "g" : "a")
    }

    private func square(
        _ level: Int, isSingle: Bool = true, _ x: Double, _ y: Double, _ writer: inout SVGWriter
    ) {
        let side = 10 + 3 * Double(level - 1)
        let inset = (Self.cell - side) / 2
        writer.shape(
            "rect", .class(isSingle ? "chart-level-\(level)" : "chart-level-others"), .x(x + inset), .y(y + inset),
            .width(side), .height(side),
            .number("rx", 2))
    }

    private func triangle(_ share: Double, _ x: Double, _ y: Double, _ writer: inout SVGWriter) {
        let leg = (Self.cell - 2) * max(0.36, share.squareRoot())
        let right = x + Self.cell - 1
        var path = SVGPath()
        path.move(right - leg, y + 1)
        path.line(right, y + 1)
        path.line(right, y + 1 + leg)
        path.close()
        writer.shape("path", .class("chart-refused"), .path(path))
    }

    private func tiles(_ writer: inout SVGWriter) {
        for column in Self.blocks(of: grid.columns) {
            for row in Self.blocks(of: grid.rows) {
                writer.shape(
                    "rect", .class("chart-tile"), .x(labelWidth + column.offset), .y(header + row.offset),
                    .width(column.extent), .height(row.extent))
            }
        }
        let right = labelWidth + Self.extent(of: grid.columns)
        let bottom = header + Self.extent(of: grid.rows)
        var lines = SVGPath()
        for column in grid.columns.indices.dropFirst() {
            let x = labelWidth + Self.offset(of: column, in: grid.columns)
            lines.move(x, header)
            lines.line(x, bottom)
        }
        for row in grid.rows.indices.dropFirst() {
            let y = header + Self.offset(of: row, in: grid.rows)
            lines.move(labelWidth, y)
            lines.line(right, y)
        }
        writer.shape("path", .class("chart-tile-lines"), .path(lines))
    }

    private func headings(_ writer: inout SVGWriter) {
        writer.label(
            corner, .class("chart-label chart-muted"), .x(labelWidth - 8),
            .y(header - 10), .text("text-anchor", "end"))
        for (column, line) in grid.columns.enumerated() {
            let x = labelWidth + Self.offset(of: column, in: grid.columns) + Self.cell / 2 + 3
            slanted(
                line.text.fitted(to: (header - 18) * 1.41 / 12), x, Self.nameClass(of: line), heading(line), &writer)
        }
        for (row, line) in grid.rows.enumerated() {
            let y = header + Self.offset(of: row, in: grid.rows) + Self.cell / 2 + 4
            writer.label(
                line.text.fitted(to: (labelWidth - 12) / 12), title: heading(line), .class(Self.nameClass(of: line)),
                .x(labelWidth - 8), .y(y), .text("text-anchor", "end"))
            guard totalsWidth > 0 else { continue }
            writer.label(
                line.tally.sends < 10_000_000
                    ? NumberText.grouped(line.tally.sends) : NumberText.brief(line.tally.sends),
                .class("chart-label chart-number chart-muted"), .x(labelWidth + Self.extent(of: grid.columns) + 62),
                .y(y), .text("text-anchor", "end"))
        }
        guard totalsWidth > 0 else { return }
        let x = labelWidth + Self.extent(of: grid.columns) + 44
        slanted("total", x, "chart-label chart-muted", "Sends in total", &writer)
    }

    private func slanted(_ text: String, _ x: Double, _ names: String, _ title: String, _ writer: inout SVGWriter) {
        let y = header - 6
        writer.label(
            text, title: title, .class(names), .x(x), .y(y),
            .text("transform", "rotate(-45 \(NumberText.decimal(x, places: 1)) \(NumberText.decimal(y, places: 1)))"))
    }

    private func heading(_ line: PairGrid.Line) -> String { "\(line.text.isolated): \(line.tally.text)" }

    private func drawLegend(_ writer: inout SVGWriter) {
        let ranges = levels.ranges
        for (index, place) in legend.places.enumerated() {
            let (x, y) = (place.x, place.y - Self.cell / 2)
            if index < ranges.count {
                square(ranges[index].level, x - 2, y, &writer)
            } else {
                square(LogLevels.count, x - 2, y, &writer)
                triangle(0.4, x - 2, y, &writer)
            }
            writer.label(
                legendTexts[index], .class("chart-label chart-muted"), .x(x + LegendFlow.sampleWidth), .y(place.y + 4))
        }
    }

    private static func nameClass(of line: PairGrid.Line) -> String {
        line.user == nil ? "chart-label chart-others" : "chart-label chart-name"
    }

    private static func offset(of index: Int, in lines: [PairGrid.Line]) -> Double {
        Double(index) * cell + (lines[index].user == nil && index > 0 ? othersGap : 0)
    }

    private static func extent(of lines: [PairGrid.Line]) -> Double {
        lines.isEmpty ? 0 : offset(of: lines.count - 1, in: lines) + cell
    }

    /// The single users and the others, which have a gap between them.
    private static func blocks(of lines: [PairGrid.Line]) -> [(offset: Double, extent: Double)] {
        let users = lines.count { $0.user != nil }
        var blocks: [(offset: Double, extent: Double)] = []
        if users > 0 { blocks.append((0, Double(users) * cell)) }
        if users < lines.count { blocks.append((offset(of: users, in: lines), cell)) }
        return blocks
    }
}
