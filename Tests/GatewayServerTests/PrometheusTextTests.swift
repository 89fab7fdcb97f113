import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayServer

@Suite("Prometheus text format")
struct PrometheusTextTests {
    @Test("A sample is written with its labels") func samplesHaveLabels() {
        let family = MetricFamily(
            "a_total", .counter, "What\nit \\ is.",
            [([.init("b", "c\"d\\e\nf")], .number(3)), ([], .number(0.25)), ([.init("g", "")], .number(1e300))])
        #expect(
            PrometheusText.write([family]) == """
                # HELP a_total What\\nit \\\\ is.
                # TYPE a_total counter
                a_total{b="c\\"d\\\\e\\nf"} 3
                a_total 0.25
                a_total{g=""} 1e+300

                """)
    }

    @Test("Histogram buckets are cumulative and in the displayed unit") func bucketsAreCumulative() {
        let histogram = Histogram(.init([1_000_000, 250_000_000], scale: 1_000_000_000))
        for value in [500_000, 1_000_000, 2_000_000, 900_000_000] as [Int64] { histogram.observe(value) }
        let family = MetricFamily("t_seconds", .histogram, "T.", [([.init("p", "q")], .histogram(histogram.reading))])
        #expect(
            PrometheusText.write([family]) == """
                # HELP t_seconds T.
                # TYPE t_seconds histogram
                t_seconds_bucket{p="q",le="0.001"} 2
                t_seconds_bucket{p="q",le="0.25"} 3
                t_seconds_bucket{p="q",le="+Inf"} 4
                t_seconds_sum{p="q"} 0.9035
                t_seconds_count{p="q"} 4

                """)
    }

    @Test(
        "Clients and backend share the file descriptors that other uses leave",
        arguments: [(256, 54, 26), (1024, 592, 256), (1_000_000, 10_000, 256), (16, 22, 10)])
    func shares(limit: Int, clients: Int, backend: Int) {
        let shares = FileDescriptorLimit.Shares(of: limit)
        #expect(shares.clients == clients)
        #expect(shares.backend == backend)
    }
}
