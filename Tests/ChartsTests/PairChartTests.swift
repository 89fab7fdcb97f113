import GatewayTesting
import Testing

@testable import Charts

/// The matrix and the graph of who notified whom.
@Suite struct PairChartTests {
    private let frame = ChartFrame(id: "pairs", title: "Who notified whom")
    private let few = [
        PairCount(sender: "alice", recipient: "bob", sends: 12, refused: 1),
        PairCount(sender: "alice", recipient: "carol", sends: 1, refused: 0),
        PairCount(sender: "dave", recipient: "bob", sends: 1234, refused: 1234),
    ]

    /// The number of sends in a title such as `alice → bob: 1,234 sends, 1 refused`.
    private func sends(_ title: String) -> Int {
        let figures = title.split(separator: ":").last?.split(separator: " ").first ?? ""
        return Int(figures.filter { $0 != "," }) ?? 0
    }

    @Test("Each pair is a cell with its figures")
    func matrixCells() throws {
        let document = try SVGDocument(MatrixChart(few, links: SampleCharts.links).svg(frame))
        #expect(
            document.elements.filter { $0.name == "a" }.compactMap(\.title) == [
                "dave → bob: 1,234 sends, 1,234 refused", "alice → bob: 12 sends, 1 refused", "alice → carol: 1 send",
            ])
        #expect(
            document.description
                == "2 senders and 2 recipients: 1,247 sends, 1,235 refused. Most: dave → bob: 1,234 sends, 1,234 refused."
        )
        // Two refused pairs and the sample in the legend.
        #expect(document.elements(withClass: "chart-refused").count == 3)
        #expect(document.labels.contains("dave"))
        #expect(document.labels.contains("1,234"))
    }

    @Test("Rows and columns are in descending order of their sends")
    func order() {
        let grid = PairGrid(few, maximumRows: 24, maximumColumns: 24)
        #expect(grid.rows.map(\.user) == ["dave", "alice"])
        #expect(grid.columns.map(\.user) == ["bob", "carol"])
        #expect(grid[0, 0] == SendTally(sends: 1234, refused: 1234))
        #expect(grid[0, 1] == SendTally())
    }

    @Test("A thousand pairs become at most 25 rows and columns, with the same sums")
    func matrixGroups() throws {
        let pairs = SampleCharts.pairs(1000)
        let total = pairs.reduce(0) { $0 + $1.sends }
        let refused = pairs.reduce(0) { $0 + $1.refused }
        let grid = PairGrid(pairs, maximumRows: 24, maximumColumns: 24)
        #expect(grid.rows.count == 25)
        #expect(grid.columns.count == 25)
        #expect(grid.rows.last?.user == nil)
        #expect(grid.rows.last?.text.full == "\(grid.senderCount - 24) others")
        #expect(grid.total == SendTally(sends: total, refused: refused))
        #expect(grid.rows.reduce(0) { $0 + $1.tally.sends } == total)
        #expect(grid.columns.reduce(0) { $0 + $1.tally.refused } == refused)
        for layout in [ChartFrame.Layout.regular, .compact] {
            let svg = MatrixChart(pairs).svg(ChartFrame(id: "x", title: "x", layout: layout))
            #expect(try SVGDocument(svg).titles.reduce(0) { $0 + sends($1) } == total)
        }
        let rows = MatrixChart(pairs).table.rows
        #expect(rows.count <= 625)
        #expect(rows.reduce(0) { $0 + (Int($1[2].filter { $0 != "," }) ?? 0) } == total)
    }

    @Test("A single user too many has a row of its own")
    func oneTooMany() {
        let pairs = (0..<25).map { PairCount(sender: "s\($0)", recipient: "r", sends: 1, refused: 0) }
        #expect(PairGrid(pairs, maximumRows: 24, maximumColumns: 24).rows.allSatisfy { $0.user != nil })
        let more = pairs + [PairCount(sender: "s25", recipient: "r", sends: 1, refused: 0)]
        let grid = PairGrid(more, maximumRows: 24, maximumColumns: 24)
        #expect(grid.rows.count == 25)
        #expect(grid.rows.last?.text.full == "2 others")
    }

    @Test("Pairs beyond the bound count for the others")
    func bound() {
        let pairs = (0..<PairGrid.maximumPairs + 10).map {
            PairCount(sender: "s\($0 % 5)", recipient: "r\($0)", sends: 1, refused: 0)
        }
        let grid = PairGrid(pairs, maximumRows: 24, maximumColumns: 24)
        #expect(grid.total.sends == pairs.count)
        #expect(grid.rows.last?.text.full == "0+ others")
        #expect(grid.rows.last?.tally.sends == 10)
        #expect(grid.columns.last?.text.full == "49,976+ others")
    }

    @Test("Names that are only canonically equivalent are different users")
    func exactNames() {
        let pairs = ["\u{E9}", "e\u{301}"].map { PairCount(sender: $0, recipient: "r", sends: 1, refused: 0) }
        #expect(PairGrid(pairs, maximumRows: 24, maximumColumns: 24).rows.count == 2)
    }

    @Test("Counts out of range do not trap")
    func extremes() throws {
        let pairs = [
            PairCount(sender: "a", recipient: "b", sends: .max, refused: .max),
            PairCount(sender: "a", recipient: "c", sends: .max, refused: .min),
            PairCount(sender: "b", recipient: "c", sends: -5, refused: 3),
            PairCount(sender: "c", recipient: "c", sends: 5, refused: 9),
        ]
        for chart in [MatrixChart(pairs), GraphChart(pairs)] as [any Chart] {
            let document = try SVGDocument(chart.svg(frame))
            #expect(document.violations == [])
            #expect(document.titles.contains("c → c: 5 sends, 5 refused"))
            #expect(!document.titles.contains { $0.hasPrefix("b → c") })
        }
    }

    @Test("The graph has an arrow for each pair and a node for each user on each side")
    func graph() throws {
        let document = try SVGDocument(GraphChart(few, links: SampleCharts.links).svg(frame))
        #expect(document.elements(withClass: "chart-arrow-head").count == 3)
        #expect(document.elements(withClass: "chart-node").count == 4)
        #expect(document.titles.contains("alice → bob: 12 sends, 1 refused"))
        #expect(document.titles.contains("alice as sender: 13 sends, 1 refused"))
        #expect(document.titles.contains("bob as recipient: 1,246 sends, 1,235 refused"))
        // The refused pair: its line, its head, and the sample in the legend.
        #expect(document.elements(withClass: "chart-arrow-refused").count == 3)
    }

    @Test("A graph of a thousand pairs has at most 40 nodes and 120 arrows, and says what is not drawn")
    func graphGroups() throws {
        let pairs = SampleCharts.pairs(1000, users: 60)
        let total = pairs.reduce(0) { $0 + $1.sends }
        let document = try SVGDocument(GraphChart(pairs).svg(frame))
        #expect(document.elements(withClass: "chart-node").count == 40)
        #expect(document.elements(withClass: "chart-arrow-edge").count == 120)
        let drawn = document.titles.filter { $0.contains("→") }.reduce(0) { $0 + sends($1) }
        let all = PairGrid(pairs, maximumRows: 19, maximumColumns: 19).links.count
        #expect(
            document.description.contains(
                "Not drawn: \(all - 120) pairs with \(NumberText.grouped(total - drawn)) sends"))
        #expect(document.labels.contains("strongest 120 of \(all) pairs"))
    }

    @Test("The order of a graph places partners next to each other")
    func graphOrder() {
        let pairs = [("a", "z"), ("b", "y"), ("c", "x")].map {
            PairCount(sender: $0.0, recipient: $0.1, sends: 5, refused: 0)
        }
        let grid = PairGrid(pairs, maximumRows: 19, maximumColumns: 19)
        let layout = GraphLayout(grid)
        #expect(layout.senders.map { grid.rows[$0].user } == ["a", "b", "c"])
        #expect(layout.recipients.map { grid.columns[$0].user } == ["z", "y", "x"])
    }

    @Test("A picture of a thousand pairs takes a few milliseconds")
    func speed() {
        let pairs = SampleCharts.pairs(1000)
        // Generous, because tests run unoptimized and beside others; in release it takes 1 ms.
        #expect(cpuTime { _ = MatrixChart(pairs).svg(frame) } < .milliseconds(500))
        #expect(cpuTime { _ = GraphChart(pairs).svg(frame) } < .milliseconds(500))
    }

    @Test("Without sends the picture says so")
    func empty() throws {
        for chart in [MatrixChart([]), GraphChart([])] as [any Chart] {
            let document = try SVGDocument(chart.svg(frame))
            #expect(document.labels == ["No sends"])
            #expect(document.description == "No sends.")
            #expect(chart.table.rows.isEmpty)
        }
    }
}
