import Testing
import WorkerProcesses

@Suite("Delay before a new worker")
struct BackoffTests {
    @Test("The delay starts with the second failure, doubles, and resets with a success")
    func backOff() {
        var backOff = Backoff(initialDelay: .milliseconds(50), maximumDelay: .seconds(2))
        #expect(backOff.delay == .zero)
        var delays: [Duration] = []
        for _ in 0..<9 {
            backOff.failed()
            delays.append(backOff.delay)
        }
        #expect(delays == [0, 50, 100, 200, 400, 800, 1600, 2000, 2000].map { .milliseconds($0) })
        for _ in 0..<1000 { backOff.failed() }
        #expect(backOff.delay == .seconds(2))
        backOff.succeeded()
        #expect(backOff.delay == .zero)
    }
}
