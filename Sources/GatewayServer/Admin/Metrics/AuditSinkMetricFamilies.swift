internal import AuditSinks
internal import GatewaySupport

/// The metrics of the audit sinks. Without sinks they have no values.
enum AuditSinkMetricFamilies {
    static func families(_ readings: [AuditSinkReading]) -> [MetricFamily] {
        func values(
            _ value: (AuditSinkReading) -> Double
        ) -> [(labels: [MetricFamily.Label], value: MetricFamily.Value)] {
            readings.map { ([.init("sink", $0.name)], .number(value($0))) }
        }
        return [
            MetricFamily(
                "notify_gateway_sink_behind_records", .gauge, "Records that the receiver of a sink has not confirmed.",
                values { Double($0.recordsBehind) }),
            MetricFamily(
                "notify_gateway_sink_behind_seconds", .gauge,
                "Age of the oldest record that the receiver of a sink has not confirmed, in seconds.",
                values(\.secondsBehind)),
            MetricFamily(
                "notify_gateway_sink_sent_records_total", .counter,
                "Records that the receiver of a sink has confirmed.",
                values { Double($0.sent) }),
            MetricFamily(
                "notify_gateway_sink_failures_total", .counter, "Failed attempts of a sink.",
                values { Double($0.failures) }),
            MetricFamily(
                "notify_gateway_sink_lost_records_total", .counter,
                "Records that the journal no longer contained when a sink wanted to send them.",
                values { Double($0.lost) }),
        ]
    }
}
