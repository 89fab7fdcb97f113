import Testing

@testable import Charts

/// Scales, and texts that are made to fit.
@Suite struct ScaleTests {
    @Test("Ticks are at 1, 2 or 5 times a power of ten and include the largest value")
    func niceTicks() {
        #expect(NiceTicks(maximum: 124, intervals: 4, isWhole: true).values == [0, 50, 100, 150])
        #expect(NiceTicks(maximum: 3, intervals: 4, isWhole: true).values == [0, 1, 2, 3])
        #expect(NiceTicks(maximum: 1, intervals: 4, isWhole: true).values == [0, 1])
        #expect(NiceTicks(maximum: 0, intervals: 4, isWhole: true).values == [0, 1])
        #expect(NiceTicks(maximum: 0.9, intervals: 4, isWhole: false).values.count == 3)
        #expect(NiceTicks(maximum: 4_000_000, intervals: 4, isWhole: true).values.last == 4_000_000)
        for exponent in -12...20 {
            for digit in 1...9 {
                var value = Double(digit)
                for _ in 0..<abs(exponent) { value = exponent < 0 ? value / 10 : value * 10 }
                let ticks = NiceTicks(maximum: value, intervals: 4, isWhole: false)
                #expect((2...8).contains(ticks.values.count))
                #expect(ticks.end >= min(value, NiceTicks.maximumValue) * 0.999)
            }
        }
        for value in [Double.nan, .infinity, -1] {
            #expect(NiceTicks(maximum: value, intervals: 4, isWhole: false).fraction(of: value) <= 1)
        }
    }

    @Test("Time ticks are at round times in UTC")
    func timeTicks() {
        let start: Int64 = 1_795_615_200  // 2026-11-25T14:00:00Z
        let hour = TimeTicks(first: start + 60, last: start + 3600, maximum: 8).ticks
        #expect(hour.map(\.label) == ["14:10", "14:20", "14:30", "14:40", "14:50", "15:00"])
        let day = TimeTicks(first: start, last: start + 86_400, maximum: 9).ticks
        #expect(day.map(\.label) == ["15:00", "18:00", "21:00", "Nov 26", "03:00", "06:00", "09:00", "12:00"])
        #expect(TimeTicks(first: start, last: start + 4, maximum: 5).ticks.map(\.label).first == "14:00:00")
        #expect(TimeTicks(first: start, last: start, maximum: 5).ticks.map(\.seconds) == [start])
        #expect(TimeTicks(first: start, last: start + 120, maximum: 9, minimumStep: 60).ticks.count == 3)
        #expect(TimeTicks(first: .min, last: .max, maximum: 5).ticks.count <= 6)
    }

    @Test("Levels are logarithmic, cover every count, and only possible ones have a range")
    func logLevels() {
        for maximum in [1, 2, 3, 7, 100, 12_345, .max] {
            let levels = LogLevels(maximum: maximum)
            #expect(levels.ranges.first?.counts.lowerBound == 1)
            #expect(levels.ranges.last?.counts.upperBound == maximum)
            for range in levels.ranges {
                #expect(levels.level(of: range.counts.lowerBound) == range.level)
                #expect(levels.level(of: range.counts.upperBound) == range.level)
            }
        }
        #expect(LogLevels(maximum: 100_000).maxima == [10, 100, 1000, 10_000, 100_000])
        #expect(LogLevels(maximum: 5).level(of: 0) == 0)
        #expect(LogLevels(maximum: 5).level(of: 500) == 5)
    }

    @Test("Numbers read well")
    func numbers() {
        #expect([0, 999, 1000, 1_234_567].map(NumberText.grouped) == ["0", "999", "1,000", "1,234,567"])
        #expect(NumberText.grouped(.min) == "-9,223,372,036,854,775,808")
        #expect(
            [0, 0.25, 500, 1500, 20_000, 3e6, 15_570].map(NumberText.short) == [
                "0", "0.25", "500", "1.5k", "20k", "3M", "15.6k",
            ])
        let durations = [0, 5e-10, 2.5e-4, 9.999e-4, 0.0015, 0.025, 1, 2.5, 10, 120].map(NumberText.duration(seconds:))
        #expect(durations == ["0 s", "1 ns", "250 µs", "1 ms", "1.5 ms", "25 ms", "1 s", "2.5 s", "10 s", "120 s"])
        #expect(
            [0.125, 3.14159, 12.34, 123.4, 1e20].map(NumberText.value) == [
                "0.125", "3.14", "12.3", "123", "1,000,000,000,000,000",
            ])
        #expect(NumberText.share(1, of: 100_000) == "< 0.1 %")
        #expect(NumberText.share(99_999, of: 100_000) == "99.9 %")
        #expect(NumberText.share(5, of: 5) == "100 %")
        #expect(NumberText.share(0, of: 0) == "0 %")
    }

    @Test("Characters that break or disguise a name are removed or made visible")
    func displayText() {
        #expect(DisplayText("a\u{0}b\u{7F}c").full == "abc")
        #expect(DisplayText("a\nb\u{2028}c").full == "a b c")
        #expect(DisplayText("a\u{202E}b\u{200B}").full == "a\u{FFFD}b\u{FFFD}")
        #expect(DisplayText("").full == "(no name)")
        #expect(DisplayText("\u{1}").full == "(no name)")
        #expect(DisplayText("e" + String(repeating: "\u{301}", count: 50)).full.unicodeScalars.count == 4)
        #expect(DisplayText("שלום").isolated == "\u{2068}שלום\u{2069}")
        #expect(DisplayText("alice").isolated == "alice")
    }

    @Test("Long names are cut off with an ellipsis")
    func fitting() {
        let long = DisplayText(String(repeating: "a", count: 10_000))
        #expect(long.full.count == 201)
        #expect(long.full.hasSuffix("…"))
        #expect(DisplayText("alice").fitted(to: 10) == "alice")
        #expect(DisplayText("alice-in-wonderland").fitted(to: 5) == "alice-in…")
        for width in [0.0, 1, 3, 8] {
            for name in ["WWWWWWWWWWWW", "日本語日本語日本語", "iiiiiiiiiiiiiiiiiiiiiiiiiiii", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦"] {
                let fitted = DisplayText(name).fitted(to: width)
                #expect(TextWidth.of(fitted) <= max(width, TextWidth.ellipsis))
            }
        }
    }

    @Test("Labels move apart within the bounds")
    func labels() {
        #expect(PlotLabels.spread([50, 50, 50], distance: 10, within: 0...100) == [50, 60, 70])
        #expect(PlotLabels.spread([98, 99, 100], distance: 10, within: 0...100) == [80, 90, 100])
        #expect(PlotLabels.spread([], distance: 10, within: 0...100) == [])
    }
}
