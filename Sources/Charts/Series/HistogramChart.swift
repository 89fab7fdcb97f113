/// A bucket of a histogram: the calls that took longer than the bound before, up to its own.
package struct HistogramBucket: Sendable, Hashable {
    /// The inclusive upper bound in seconds; infinity for the last bucket.
    package let upperBound: Double
    /// The number of calls in this bucket alone, not in those before it.
    package let count: Int

    /// Creates a bucket. A negative count becomes 0.
    package init(upperBound: Double, count: Int) {
        self.upperBound = upperBound
        self.count = max(0, count)
    }
}

/// The latency of calls as bars of equal width, one for each bucket, with marks at the median and the 99th percentile.
package struct HistogramChart: Chart {
    /// The number of bars. Of more buckets, each few neighbours become one.
    package static let maximumBars = 48

    /// The plural noun for the counted objects, such as `sends`.
    let noun: String
    /// Ascending by their bounds.
    let buckets: [HistogramBucket]
    /// The bound below the first bucket, in seconds.
    let lowerBound: Double
    let total: Int

    /// Creates a histogram.
    ///
    /// - Parameters:
    ///   - noun: what is counted, in the plural: `calls`.
    ///   - lowerBound: the seconds below which there is no call.
    ///   - buckets: in any order. Bounds that are not above the lower bound are left out.
    package init(noun: String, lowerBound: Double = 0, buckets: [HistogramBucket]) {
        self.noun = DisplayText(noun).full
        let lowerBound = lowerBound.isFinite ? max(0, lowerBound) : 0
        self.lowerBound = lowerBound
        let sorted = buckets.filter { $0.upperBound > lowerBound }.sorted { $0.upperBound < $1.upperBound }
        let stride = max(1, (sorted.count + Self.maximumBars - 1) / Self.maximumBars)
        self.buckets = Swift.stride(from: 0, to: sorted.count, by: stride).map { first in
            let group = sorted[first..<min(first + stride, sorted.count)]
            return HistogramBucket(upperBound: group[group.endIndex - 1].upperBound, count: Self.sum(group))
        }
        total = Self.sum(self.buckets[...])
    }

    /// Returns the bounds of a bucket in words: `1 ms–2 ms`, `over 10 s`.
    func range(of index: Int) -> String {
        let lower = NumberText.duration(seconds: lower(of: index))
        guard buckets[index].upperBound.isFinite else { return "over \(lower)" }
        return "\(lower)–\(NumberText.duration(seconds: buckets[index].upperBound))"
    }

    /// Returns the lower bound of a bucket in seconds.
    func lower(of index: Int) -> Double { index == 0 ? lowerBound : buckets[index - 1].upperBound }

    /// Returns where a quantile is, from the counts alone: as in Prometheus, calls are taken to be spread evenly over
    /// their bucket. Nil without calls.
    func quantile(_ share: Double) -> HistogramQuantile? {
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var before = 0.0
        for (index, bucket) in buckets.enumerated() where bucket.count > 0 {
            let after = before + Double(bucket.count)
            if after >= rank {
                let within = min(max((rank - before) / Double(bucket.count), 0), 1)
                let lower = lower(of: index)
                let isOpen = !bucket.upperBound.isFinite
                return HistogramQuantile(
                    bucket: index, within: isOpen ? 0 : within,
                    seconds: isOpen ? lower : lower + (bucket.upperBound - lower) * within, isLowerBound: isOpen)
            }
            before = after
        }
        return nil
    }

    /// One row for each bucket.
    package var table: ChartTable {
        ChartTable(
            columns: ["Latency", "Count", "Share"],
            rows: buckets.indices.map { index in
                [
                    range(of: index), NumberText.grouped(buckets[index].count),
                    NumberText.share(buckets[index].count, of: total),
                ]
            })
    }

    /// Returns the picture.
    package func svg(_ frame: ChartFrame) -> String {
        guard total > 0 else {
            return EmptyPicture(kind: "chart-histogram", height: 160, text: "No data").svg(frame)
        }
        let drawing = HistogramDrawing(self, isCompact: frame.isCompact)
        return Picture(
            kind: "chart-histogram", width: drawing.width, height: drawing.height, description: description
        ).svg(frame, drawing: drawing.draw)
    }

    /// The picture in words.
    private var description: String {
        var text = "\(NumberText.grouped(total)) \(DisplayText(noun).isolated)"
        if let median = quantile(0.5) { text += ", p50 \(median.text)" }
        if let late = quantile(0.99) { text += ", p99 \(late.text)" }
        guard let highest = buckets.indices.max(by: { (buckets[$0].count, $1) < (buckets[$1].count, $0) }) else {
            return "\(text)."
        }
        return "\(text). Most in \(range(of: highest)): \(NumberText.grouped(buckets[highest].count))."
    }

    private static func sum(_ buckets: ArraySlice<HistogramBucket>) -> Int {
        buckets.reduce(0) { sum, bucket in
            let (result, overflow) = sum.addingReportingOverflow(bucket.count)
            return overflow ? .max : result
        }
    }
}

/// Where a quantile is in a histogram.
struct HistogramQuantile: Sendable, Hashable {
    let bucket: Int
    /// The place within the bucket, from 0 to 1.
    let within: Double
    let seconds: Double
    /// Whether the quantile is in the last bucket, which has no end.
    let isLowerBound: Bool

    /// The quantile in words: `12 ms`, `over 10 s`.
    var text: String { (isLowerBound ? "over " : "") + NumberText.duration(seconds: seconds) }
}
