import Charts
import GatewayTesting
import Testing

/// What every picture keeps, whatever the input is.
@Suite struct PictureRuleTests {
    private func check(_ chart: any Chart, _ comment: Comment) throws {
        for layout in [ChartFrame.Layout.regular, .compact] {
            let svg = chart.svg(ChartFrame(id: "pic", title: "A title", layout: layout))
            #expect(try SVGDocument(svg).violations == [], comment)
        }
    }

    @Test("Pictures with and without data keep the rules")
    func everyPicture() throws {
        for chart in SampleCharts.all(named: "alice") + SampleCharts.empty { try check(chart, "\(type(of: chart))") }
    }

    @Test("Hostile names stay text", arguments: SampleCharts.hostileNames.keys.sorted())
    func hostileNames(kind: String) throws {
        let name = try #require(SampleCharts.hostileNames[kind])
        for (chart, harmless) in zip(SampleCharts.all(named: name), SampleCharts.all(named: "alice")) {
            let svg = chart.svg(ChartFrame(id: name, title: name))
            let document = try SVGDocument(svg)
            #expect(document.violations == [])
            let expected = try SVGDocument(harmless.svg(ChartFrame(id: "alice", title: "alice")))
            #expect(outline(document) == outline(expected))
            #expect(svg.utf8.count < 60_000)
            #expect(chart.table.rows.allSatisfy { $0.count == chart.table.columns.count })
        }
    }

    /// The names of the elements in order. A name that is too long for an address has no link.
    private func outline(_ document: SVGDocument) -> [String] {
        document.elements.filter { !$0.classes.contains("chart-hit") }.map { $0.name == "a" ? "g" : $0.name }
    }

    @Test(
        "The Big List of Naughty Strings stays text",
        .enabled(if: !TestData.naughtyStrings.isEmpty, "no blns.json: set NOTIFY_GATEWAY_CORPORA"))
    func naughtyStrings() throws {
        let strings = TestData.naughtyStrings
        for first in stride(from: 0, to: strings.count, by: 19) {
            let names = strings[first..<min(first + 19, strings.count)]
            let pairs = names.map { PairCount(sender: $0, recipient: $0, sends: 2, refused: 1) }
            try check(MatrixChart(pairs, links: SampleCharts.links), "\(names)")
            try check(GraphChart(pairs, links: SampleCharts.links), "\(names)")
        }
        for name in strings {
            for chart in SampleCharts.all(named: name) where !(chart is MatrixChart || chart is GraphChart) {
                try check(chart, "\(name)")
            }
        }
    }

    @Test("Equal input yields equal text, in any order of the pairs")
    func determinism() {
        let pairs = SampleCharts.pairs(400)
        let frame = ChartFrame(id: "pic", title: "Pairs")
        #expect(MatrixChart(pairs).svg(frame) == MatrixChart(pairs.reversed()).svg(frame))
        #expect(GraphChart(pairs).svg(frame) == GraphChart(pairs.reversed()).svg(frame))
    }

    @Test("Both layouts stand beside each other with different ids")
    func responsive() throws {
        for chart in SampleCharts.all(named: "alice") {
            let html = chart.responsive(id: "pairs", title: "Pairs")
            let document = try SVGDocument(html)
            let ids = document.elements.compactMap { $0.attributes["id"] }
            #expect(ids == ["pairs-title", "pairs-desc", "pairs-compact-title", "pairs-compact-desc"])
            #expect(document.elements.first?.classes == ["chart-responsive"])
        }
    }

    @Test("Ids keep only characters that are safe in an id, and begin with a letter")
    func ids() {
        #expect(ChartFrame(id: "a b\"<>c-1_é", title: "").id == "abc-1_")
        #expect(ChartFrame(id: "1", title: "").id == "chart-1")
        #expect(ChartFrame(id: "", title: "").id == "chart-")
        #expect(ChartFrame(id: String(repeating: "x", count: 1000), title: "").id.count == 64)
    }

    @Test(
        "Addresses that are not on the same origin are no links",
        arguments: [
            "javascript:alert(1)", "//evil.example", "/\\evil.example", "https://evil.example", "", "data:text/html,x",
            "/a b", "/\u{E9}", "/" + String(repeating: "x", count: 9000),
        ])
    func foreignAddresses(address: String) throws {
        let links = PairLinks(pair: { _, _ in address }, user: { _ in address })
        let pairs = [PairCount(sender: "a", recipient: "b", sends: 1, refused: 0)]
        for chart in [MatrixChart(pairs, links: links), GraphChart(pairs, links: links)] as [any Chart] {
            let document = try SVGDocument(chart.svg(ChartFrame(id: "x", title: "x")))
            #expect(!document.elements.contains { $0.name == "a" })
            #expect(document.violations == [])
        }
    }

    @Test("Addresses arrive as they were given")
    func addresses() throws {
        let pairs = [PairCount(sender: "a&b", recipient: "ü", sends: 1, refused: 0)]
        let matrix = try SVGDocument(MatrixChart(pairs, links: SampleCharts.links).svg(ChartFrame(id: "x", title: "x")))
        let hrefs = matrix.elements.compactMap { $0.attributes["href"] }
        #expect(hrefs == ["/calls?sender=a%26b&recipient=%C3%BC"])
        let graph = try SVGDocument(GraphChart(pairs, links: SampleCharts.links).svg(ChartFrame(id: "x", title: "x")))
        #expect(graph.elements.compactMap { $0.attributes["href"] } == ["/users/a%26b", "/users/%C3%BC"])
    }
}
