internal import GatewaySupport
internal import TraceExport

/// The metrics of the export of spans. Without tracing their values are 0.
enum TraceExportMetricFamilies {
    static func families(_ metrics: TraceExportMetrics) -> [MetricFamily] {
        [
            MetricFamily(
                "notify_gateway_trace_spans_exported_total", .counter, "Spans that the collector accepted.",
                Double(metrics.exported.value)),
            MetricFamily(
                "notify_gateway_trace_spans_dropped_total", .counter, "Spans that were not exported, by reason.",
                metrics.drops.map { ([.init("reason", $0.reason.rawValue)], .number(Double($0.count))) }),
        ]
    }
}
