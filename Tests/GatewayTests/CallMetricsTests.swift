import Dispatch
import Foundation
import GatewaySupport
import Synchronization
import Testing

@testable import Gateway

@Suite("Metrics of calls") struct CallMetricsTests {
    private func counts(_ name: String, in metrics: CallMetrics) throws -> [UInt64] {
        let family = try #require(metrics.families.first { $0.name == name })
        return family.values.map { _, value in
            if case .histogram(let reading) = value { reading.counts.reduce(0, +) } else { 0 }
        }
    }

    @Test("The exported durations are those of calls on all threads")
    func threads() throws {
        let metrics = CallMetrics()
        // The iterations run on several threads, as far as the machine has processors.
        DispatchQueue.concurrentPerform(iterations: 100) { _ in
            var timer = PhaseTimer(metrics)
            timer.enter(.authenticate)
            timer.finish(nil, status: 200, nil)
        }
        #expect(try counts("notify_gateway_call_duration_seconds", in: metrics) == [100])
        let phases = try counts("notify_gateway_phase_duration_seconds", in: metrics)
        #expect(phases.prefix(3) == [100, 100, 0])
        #expect(phases.reduce(0, +) == 200)
    }

    @Test("Readings of histograms add up by bucket")
    func sum() {
        let (left, right) = (Histogram(.sizes), Histogram(.sizes))
        for value: Int64 in [1, 2, 5000] { left.observe(value) }
        for value: Int64 in [2, 3] { right.observe(value) }
        let sum = left.reading + right.reading
        #expect(sum.counts.prefix(3) == [1, 2, 1] && sum.counts.last == 1)
        #expect(sum.sum == 5008)
    }

    @Test("A thread keeps its number, and another thread has another one")
    func threadNumbers() {
        let own = ThreadNumber.current
        #expect(own > 0 && ThreadNumber.current == own)
        let other = Mutex(own)
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            other.withLock { $0 = ThreadNumber.current }
            done.signal()
        }
        done.wait()
        #expect(other.withLock(\.self) != own)
    }
}
