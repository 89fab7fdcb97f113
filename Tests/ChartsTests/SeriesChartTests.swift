import GatewaySupport
import Testing

@testable import Charts

/// The charts over time and of latency.
@Suite struct SeriesChartTests {
    private let frame = ChartFrame(id: "rates", title: "Rates")
    private let start = WallTime(seconds: 1_795_615_200)  // 2026-11-25T14:00:00Z

    private func chart(_ series: [(String, [Double?])]) -> TimeChart {
        TimeChart(
            start: start, interval: 60, unit: "per minute",
            series: series.map { TimeSeries(name: $0.0, values: $0.1) })
    }

    /// The number of separate lines in the path of a series.
    private func pieces(_ document: SVGDocument) -> Int {
        document.elements(withClass: "chart-line").first?.attributes["d"]?.count { $0 == "M" } ?? 0
    }

    @Test("The description and the labels have the figures and the names")
    func figures() throws {
        let document = try SVGDocument(chart([("sends", [3, 124, 7]), ("failures", [nil, nil, nil])]).svg(frame))
        #expect(
            document.description
                == "per minute from 2026-11-25 14:00 to 2026-11-25 14:02 UTC. sends: at most 124 at 2026-11-25 14:01, "
                + "latest 7. failures: no data.")
        #expect(document.labels.contains("sends"))
        #expect(document.labels.contains("14:01"))
        #expect(document.labels.contains("150"))
        #expect(document.labels.contains("per minute · 2026-11-25 UTC"))
    }

    @Test("Missing values are gaps, a value between two of them is a dot")
    func gaps() throws {
        #expect(pieces(try SVGDocument(chart([("sends", [1, 2, 3, 4])]).svg(frame))) == 1)
        #expect(pieces(try SVGDocument(chart([("sends", [1, 2, nil, 4, nil, 5, 6])]).svg(frame))) == 3)
        #expect(pieces(try SVGDocument(chart([("sends", [1, .nan, -1, .infinity, 5])]).svg(frame))) == 2)
    }

    @Test("A series that ends early has no line to its name")
    func endsEarly() throws {
        let document = try SVGDocument(chart([("a", [1, 2, 3, 4]), ("b", [1, 2, nil, nil])]).svg(frame))
        #expect(document.elements(withClass: "chart-leader").count == 1)
        #expect(document.elements(withClass: "chart-series-name").count == 2)
    }

    @Test("Every series has its own class and marker")
    func series() throws {
        let values: [Double?] = [1, 2, 3]
        let document = try SVGDocument(chart((1...5).map { ("s\($0)", values) }).svg(frame))
        for number in 1...5 { #expect(document.elements(withClass: "chart-series-\(number)").count == 2) }
        let shapes = (0..<5).map { index in
            var path = SVGPath()
            PlotMarker(series: index).add(to: &path, 0, 0)
            return path.text
        }
        #expect(Set(shapes).count == 5)
        // Equal lines end at the same point, but their names do not overlap.
        let names = document.elements(withClass: "chart-series-name").compactMap { Double($0.attributes["y"] ?? "") }
        #expect(zip(names, names.dropFirst()).allSatisfy { abs($0 - $1) >= 16 })
    }

    @Test("Series beyond the fifth are summed, points beyond 1,440 become the largest of their neighbours")
    func bounds() {
        let many = chart((1...9).map { ("s\($0)", [Double($0), nil]) })
        #expect(many.series.map(\.name) == ["s1", "s2", "s3", "s4", "5 others"])
        #expect(many.series[4].values == [35, nil])
        var values = Array(repeating: 1.0 as Double?, count: 10_000)
        values[7777] = 99
        let long = chart([("sends", values), ("short", [2])])
        #expect(long.pointCount <= 1440)
        #expect(long.series.allSatisfy { $0.values.count == long.pointCount })
        #expect(long.series[0].values.compactMap { $0 }.max() == 99)
        #expect(long.seconds(at: 1) - long.seconds(at: 0) == 7 * 60)
        #expect(long.table.rows.count == long.pointCount)
        #expect(long.svg(frame).utf8.count < 60_000)
    }

    @Test("Peaks remain where points are too close to be told apart")
    func peaks() throws {
        var values = Array(repeating: 10.0, count: 1440)
        values[701] = 500
        let run = PlotLine.Run(first: 0, values: values)
        let places = PlotLine.simplified(run, spacing: 0.4)
        #expect(places.contains(701))
        #expect(places.count < 800)
        #expect(places == places.sorted())
        #expect(PlotLine.simplified(PlotLine.Run(first: 5, values: [1, 2]), spacing: 0.01) == [5, 6])
    }

    @Test("Without any value the picture says so; zero is a value")
    func noData() throws {
        for chart in [chart([]), chart([("sends", [])]), chart([("sends", [nil, nil])])] {
            #expect(try SVGDocument(chart.svg(frame)).labels == ["No data"])
        }
        let zero = try SVGDocument(chart([("sends", [0, 0])]).svg(frame))
        #expect(zero.labels.contains("sends"))
        #expect(zero.elements(withClass: "chart-line").count == 1)
    }

    @Test("Extreme times and intervals do not trap")
    func extremeTimes() throws {
        for seconds in [Int64.min, -1, 0, Int64.max] {
            for interval in [Int.min, 1, Int.max] {
                let chart = TimeChart(
                    start: WallTime(seconds: seconds), interval: interval, unit: "",
                    series: [TimeSeries(name: "", values: [1, 1e300, 3])])
                #expect(try SVGDocument(chart.svg(frame)).violations == [])
                #expect(chart.table.rows.count == 3)
            }
        }
    }

    @Test("Bars have the figures of their buckets, quantiles lie in them")
    func histogram() throws {
        let chart = HistogramChart(noun: "calls", buckets: SampleCharts.buckets)
        let document = try SVGDocument(chart.svg(frame))
        #expect(
            document.elements(withClass: "chart-bar").map(\.title) == [
                "0 s–1 ms: 40 calls (40 %)", "1 ms–2 ms: 50 calls (50 %)", "2 ms–5 ms: 10 calls (10 %)",
            ])
        // The 50th call is the 10th of 50 between 1 ms and 2 ms, the 99th is the 9th of 10 between 2 ms and 5 ms.
        #expect(document.labels.contains("p50 1.2 ms"))
        #expect(document.labels.contains("p99 4.7 ms"))
        #expect(document.description == "100 calls, p50 1.2 ms, p99 4.7 ms. Most in 1 ms–2 ms: 50.")
        #expect(chart.table.rows.map { $0[1] } == ["40", "50", "10", "0"])
    }

    @Test("A quantile in the last bucket is a lower bound")
    func openQuantile() throws {
        let chart = HistogramChart(
            noun: "calls",
            buckets: [HistogramBucket(upperBound: 10, count: 1), HistogramBucket(upperBound: .infinity, count: 9)])
        let document = try SVGDocument(chart.svg(frame))
        #expect(document.labels.contains("p99 over 10 s"))
        #expect(document.labels.contains("over 10 s"))
    }

    @Test("Buckets beyond the bound are merged, invalid ones are left out")
    func manyBuckets() throws {
        let buckets = (1...1000).map { HistogramBucket(upperBound: Double($0) / 1000, count: 2) }
        let chart = HistogramChart(
            noun: "calls",
            buckets: buckets + [
                HistogramBucket(upperBound: .nan, count: 5), HistogramBucket(upperBound: -1, count: 5),
                HistogramBucket(upperBound: 2, count: -5),
            ])
        #expect(chart.buckets.count <= HistogramChart.maximumBars)
        #expect(chart.total == 2000)
        #expect(try SVGDocument(chart.svg(frame)).violations == [])
        let extreme = HistogramChart(
            noun: "calls",
            buckets: [
                HistogramBucket(upperBound: .leastNonzeroMagnitude, count: .max),
                HistogramBucket(upperBound: 1e308, count: .max),
            ])
        #expect(try SVGDocument(extreme.svg(frame)).violations == [])
    }

    @Test("A sparkline describes its values")
    func sparkline() throws {
        let document = try SVGDocument(Sparkline(name: "sends", values: [4, nil, 9, 2]).svg(frame))
        #expect(document.description == "sends: latest 2, from 2 to 9.")
        #expect(document.labels == [])
        #expect(pieces(document) == 2)
        let long = Sparkline(name: "sends", values: Array(repeating: 1, count: 100_000))
        #expect(long.table.rows.count <= Sparkline.maximumPoints)
        #expect(long.svg(frame).utf8.count < 8_000)
        #expect(try SVGDocument(Sparkline(name: "sends", values: []).svg(frame)).description == "sends: no data.")
    }
}
