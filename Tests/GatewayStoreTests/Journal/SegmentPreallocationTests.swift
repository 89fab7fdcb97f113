import Testing

@testable import GatewayStore

@Suite struct SegmentPreallocationTests {
    /// Returns the step after a number of rounds at the given speed of the disk.
    private func step(after count: Int, batch: Int64, perMebibyte: Int64) -> Int {
        var pace = SegmentPreallocation()
        for _ in 0..<count {
            pace.wroteBatch(in: batch)
            pace.preallocated(in: batch + perMebibyte * Int64(pace.step) / 1_048_576)
        }
        return pace.step
    }

    @Test("The step starts small and stays small on a fast disk with slow large writes")
    func quick() {
        #expect(SegmentPreallocation().step == 64 << 10)
        for count in 1..<20 {
            let step = step(after: count, batch: 110_000, perMebibyte: 3_600_000)
            #expect(step <= 128 << 10)
        }
    }

    @Test("The step grows to its maximum on a slow disk")
    func slow() { #expect(step(after: 6, batch: 20_000_000, perMebibyte: 3_600_000) == 1 << 20) }

    @Test("The step follows a disk that becomes slower or faster")
    func change() {
        var pace = SegmentPreallocation()
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
