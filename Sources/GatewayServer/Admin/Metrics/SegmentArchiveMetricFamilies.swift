internal import GatewaySupport
internal import SegmentArchive

/// The metrics of the archive of segments. Without an archive they have no values.
enum SegmentArchiveMetricFamilies {
    static func families(_ reading: ArchiveReading?) -> [MetricFamily] {
        func values(
            _ value: (ArchiveReading) -> Double
        ) -> [(labels: [MetricFamily.Label], value: MetricFamily.Value)] {
            reading.map { [([], .number(value($0)))] } ?? []
        }
        return [
            MetricFamily(
                "notify_gateway_archive_behind_segments", .gauge,
                "Finished segments of the journal that are not archived.", values { Double($0.segmentsBehind) }),
            MetricFamily(
                "notify_gateway_archive_behind_bytes", .gauge, "Bytes of these segments.",
                values { Double($0.bytesBehind) }),
            MetricFamily(
                "notify_gateway_archive_uploaded_segments_total", .counter, "Segments that were sent to the archive.",
                values { Double($0.uploaded) }),
            MetricFamily(
                "notify_gateway_archive_failures_total", .counter, "Failed attempts to archive a segment.",
                values { Double($0.failures) }),
            MetricFamily(
                "notify_gateway_archive_conflicts_total", .counter,
                "Segments for which the archive had an object with other content.", values { Double($0.conflicts) }),
            MetricFamily(
                "notify_gateway_archive_lost_records_total", .counter,
                "Records that the journal no longer contained when they were to be archived.",
                values { Double($0.lost) }),
        ]
    }
}
