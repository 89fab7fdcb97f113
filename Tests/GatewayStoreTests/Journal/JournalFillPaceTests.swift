import Testing

@testable import GatewayStore

@Suite struct JournalFillPaceTests {
    /// Where the step is after so many times that each take as long as the disk needs for them.
    private func step(after count: Int, batch: Int64, perMebibyte: Int64) -> Int {
        var pace = JournalFillPace()
        for _ in 0..<count {
            pace.wroteBatch(in: batch)
            pace.preallocated(in: batch + perMebibyte * Int64(pace.step) / 1_048_576)
        }
        return pace.step
    }

    @Test("it begins small and stays so on a quick disk that takes long for much")
    func quick() {
        #expect(JournalFillPace().step == 64 << 10)
        for count in 1..<20 {
            let step = step(after: count, batch: 110_000, perMebibyte: 3_600_000)
            #expect(step <= 128 << 10)
        }
    }

    @Test("on a slow disk it grows to its end")
    func slow() { #expect(step(after: 6, batch: 20_000_000, perMebibyte: 3_600_000) == 1 << 20) }

    @Test("a disk that becomes slower or quicker again is followed")
    func change() {
        var pace = JournalFillPace()
        for _ in 0..<10 {
            pace.wroteBatch(in: 5_000_000)
            pace.preallocated(in: 6_000_000)
        }
        #expect(pace.step == 1 << 20)
        for _ in 0..<10 {
            pace.wroteBatch(in: 100_000)
            pace.preallocated(in: 300_000)
        }
        #expect(pace.step == 64 << 10)
    }
}
