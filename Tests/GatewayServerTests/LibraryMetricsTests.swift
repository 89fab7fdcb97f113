import CoreMetrics
import GatewayCore
import Testing

@testable import GatewayServer

@Suite("Metrics of libraries")
struct LibraryMetricsTests {
    private let metrics = LibraryMetrics()

    /// Returns the lines of a scrape without comments and without the count of rejections.
    private func samples(_ metrics: LibraryMetrics) -> [String] {
        PrometheusText.write(metrics.families()).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") && !$0.hasPrefix("swift_metrics_") }
    }

    private func rejected(_ metrics: LibraryMetrics) -> Bool {
        !PrometheusText.write(metrics.families()).contains("\nswift_metrics_series_rejected_total 0\n")
    }

    @Test("Counters of whole and fractional amounts only increase, and restart at a reset")
    func counters() {
        let whole = CoreMetrics.Counter(label: "hb.requests", dimensions: [("http.route", "/a")], factory: metrics)
        whole.increment(by: 2)
        whole.increment()
        whole.increment(by: -7)
        let fraction = FloatingPointCounter(label: "bytes_total", factory: metrics)
        fraction.increment(by: 0.25)
        fraction.increment(by: -1.0)
        fraction.increment(by: Double.infinity)
        fraction.increment(by: Double.nan)
        #expect(samples(metrics) == ["bytes_total 0.25", #"hb_requests_total{http_route="/a"} 3"#])
        whole.reset()
        #expect(samples(metrics).last == #"hb_requests_total{http_route="/a"} 0"#)
    }

    @Test("Gauges and meters have the last value, and a value that is not finite is written as Prometheus reads it")
    func gauges() {
        CoreMetrics.Gauge(label: "g", factory: metrics).record(1.5)
        let meter = Meter(label: "m", factory: metrics)
        meter.set(4)
        meter.increment(by: 2.5)
        meter.decrement(by: 1.0)
        meter.decrement(by: Double.infinity)
        for (name, value) in [("n", Double.nan), ("p", .infinity), ("q", -.infinity)] {
            Meter(label: name, factory: metrics).set(value)
        }
        #expect(samples(metrics) == ["g 1.5", "m 5.5", "n NaN", "p +Inf", "q -Inf"])
    }

    @Test("A recorder that aggregates is a summary of a sum and a count")
    func recorders() {
        let recorder = Recorder(label: "sizes", dimensions: [("a", "b")], factory: metrics)
        recorder.record(3)
        recorder.record(0.5)
        recorder.record(Double.nan)
        #expect(PrometheusText.write(metrics.families()).contains("# TYPE sizes summary\n"))
        #expect(samples(metrics) == [#"sizes_sum{a="b"} 3.5"#, #"sizes_count{a="b"} 2"#])
    }

    @Test("A timer is a histogram in seconds, whatever unit the library prefers")
    func timers() {
        let timer = CoreMetrics.Timer(
            label: "http.server.request.duration", dimensions: [], preferredDisplayUnit: .milliseconds,
            factory: metrics)
        timer.recordNanoseconds(250_000_000)
        timer.recordNanoseconds(-1)
        let lines = samples(metrics)
        let text = PrometheusText.write(metrics.families())
        #expect(text.contains("# TYPE http_server_request_duration_seconds histogram\n"))
        #expect(lines.contains(#"http_server_request_duration_seconds_bucket{le="0.1"} 1"#))
        #expect(lines.contains(#"http_server_request_duration_seconds_bucket{le="0.25"} 2"#))
        #expect(
            lines.suffix(2) == [
                "http_server_request_duration_seconds_sum 0.25", "http_server_request_duration_seconds_count 2",
            ])
    }

    @Test(
        "Names have the grammar of Prometheus, and do not take the names of the gateway",
        arguments: [
            ("a.b-c d", "a_b_c_d"), ("9x", "_9x"), ("", "_"), ("käse:1\n", "k_se_1_"),
            ("notify_gateway_ready", "library_notify_gateway_ready"), ("process.open.fds", "library_process_open_fds"),
            ("swift.metrics.x", "library_swift_metrics_x"),
            (String(repeating: "a", count: 999), String(repeating: "a", count: 200)),
        ])
    func names(label: String, name: String) {
        Meter(label: label, factory: metrics).set(1)
        #expect(samples(metrics) == ["\(name) 1"])
    }

    @Test("Labels are escaped, bounded, sorted and unique, and do not take the names of Prometheus")
    func labels() {
        let long = String(repeating: "v", count: 300)
        let dimensions = [("le", "1"), ("b.c", "first"), ("b_c", "last"), ("__a", long)]
        Meter(label: "m", dimensions: dimensions, factory: metrics).set(1)
        Meter(label: "m", dimensions: [("x", "a\"b\\c\nd")], factory: metrics).set(2)
        #expect(
            samples(metrics) == [
                #"m{b_c="last",library___a="\#(long.prefix(200))",library_le="1"} 1"#,
                #"m{x="a\"b\\c\nd"} 2"#,
            ])
    }

    @Test("Series with the same name and labels share their values")
    func sharing() {
        CoreMetrics.Counter(label: "c", dimensions: [("a", "1"), ("b", "2")], factory: metrics).increment()
        CoreMetrics.Counter(label: "c", dimensions: [("b", "2"), ("a", "1")], factory: metrics).increment()
        #expect(samples(metrics) == [#"c_total{a="1",b="2"} 2"#])
    }

    @Test("Series beyond the capacity record nothing and are counted, and a destroyed series makes room")
    func capacity() {
        let metrics = LibraryMetrics(capacity: 2)
        let series = (0..<3).map {
            CoreMetrics.Counter(label: "c", dimensions: [("n", "\($0)")], factory: metrics)
        }
        for counter in series { counter.increment() }
        #expect(samples(metrics) == [#"c_total{n="0"} 1"#, #"c_total{n="1"} 1"#])
        #expect(PrometheusText.write(metrics.families()).contains("\nswift_metrics_series_rejected_total 1\n"))
        series[2].destroy()
        // A second use of a series keeps it.
        let second = CoreMetrics.Counter(label: "c", dimensions: [("n", "0")], factory: metrics)
        series[0].destroy()
        #expect(samples(metrics).count == 2)
        second.destroy()
        Meter(label: "m", factory: metrics).set(1)
        #expect(samples(metrics) == [#"c_total{n="1"} 1"#, "m 1"])
    }

    @Test("A name in use for another kind is rejected, also where only a line of the export has it")
    func conflicts() {
        Meter(label: "a.total", factory: metrics).set(1)
        #expect(!rejected(metrics))
        CoreMetrics.Counter(label: "a", factory: metrics).increment()
        Recorder(label: "r", factory: metrics).record(1)
        Meter(label: "r_count", factory: metrics).set(9)
        #expect(PrometheusText.write(metrics.families()).contains("\nswift_metrics_series_rejected_total 2\n"))
        #expect(samples(metrics) == ["a_total 1", "r_sum 1", "r_count 1"])
    }

    @Test("Additions from many threads are all counted")
    func concurrency() async {
        let metrics = metrics
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    let counter = FloatingPointCounter(label: "c", factory: metrics)
                    for _ in 0..<1000 { counter.increment(by: 0.5) }
                }
            }
        }
        #expect(samples(metrics) == ["c_total 4000"])
    }
}
