import BenchmarkSupport
import Foundation

/// The printed table and the check of the aims.
enum Report {
    static let header =
        "| calls at | offered/s | carried/s | p50 ms | p99 ms | rejected/s | p50 ms | p99 ms | too late | not sent | failed | sender late, p99 ms |\n"
        + "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"

    static func line(_ name: String, _ tally: Tally, seconds: Double) -> String {
        func time(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "–" }
        func rate(_ count: Int) -> String { String(format: "%.0f", Double(count) / seconds) }
        let cells = [
            name, rate(tally.offered), rate(tally.carried), time(tally.latencies.percentile(0.5)),
            time(tally.latencies.percentile(0.99)), rate(tally.rejected), time(tally.rejections.percentile(0.5)),
            time(tally.rejections.percentile(0.99)), "\(tally.tooLate)", "\(tally.leftOut)", "\(tally.failed)",
            time(tally.lateness.percentile(0.99)),
        ]
        return "| \(cells.joined(separator: " | ")) |"
    }

    /// Prints the result for each aim; returns whether all aims are reached.
    ///
    /// - Parameters:
    ///   - time: the time of the overload, in seconds after the plan's start.
    ///   - end: the end of the part after the overload.
    static func printAims(
        _ overload: Tally, during time: Range<Double>, _ after: Tally, until end: Double, peak: Double
    ) -> Bool {
        let goodput = Double(overload.carried) / (time.upperBound - time.lowerBound) / peak
        let rejection = overload.rejections.percentile(0.99)
        let recovery = after.firstGoodSecond(from: Int64(time.upperBound * 1e9), to: Int64(end * 1e9))
        let aims: [(text: String, isReached: Bool)] = [
            (
                String(format: "goodput at twice the peak: %.0f %% of the peak (aim: at least 80)", goodput * 100),
                goodput >= 0.8
            ),
            (
                rejection.map { String(format: "rejections: %.2f ms at p99 (aim: within 10)", $0) }
                    ?? "rejections: none",
                (rejection ?? 0) <= 10
            ),
            (
                recovery.map { String(format: "recovered after %.1f s (aim: within 2)", $0) } ?? "not recovered",
                recovery ?? .infinity <= 2
            ),
            ("failed calls: \(overload.failed + after.failed) (aim: none)", overload.failed + after.failed == 0),
        ]
        for aim in aims { print(aim.isReached ? "reached:" : "MISSED: ", aim.text) }
        return aims.allSatisfy(\.isReached)
    }
}
