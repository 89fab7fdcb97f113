import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Testing

@testable import Gateway

@Suite("Log of rejections")
struct RejectionLogTests {
    private let call = CallID(process: 1, number: 1)

    private func rejection(_ code: RejectionCode, _ detail: String, from address: UInt32) -> Rejection {
        Rejection(code, detail).with(CallFacts(call: call, peer: .v4(address)))
    }

    /// The number of rejected calls that the lines count.
    private func total(_ lines: [LogRecorder.Line]) -> Int {
        lines.reduce(0) { $0 + ($1.metadata["count"].flatMap { Int($0) } ?? 1) }
    }

    @Test("A million rejected calls of several kinds and addresses write a bounded log that counts each of them")
    func million() {
        let (log, clock) = (LogRecorder(), ManualClock())
        var logger = log.logger
        logger.logLevel = .info
        let rejections = RejectionLog(clocks: clock.clocks)
        let kinds = (0..<1000 as Range<UInt32>).map { number in
            switch number % 4 {
            case 0: rejection(.noRoute, "no such path", from: number)
            case 1: rejection(.credentialsMissing, "no Authorization", from: number)
            case 2: rejection(.overloaded, "too many calls are in flight", from: number)
            default: rejection(.journalUnavailable, "no space", from: number)
            }
        }
        for round in 0..<1_000_000 {
            // The rate is 20,000 a second, for 50 s.
            if round % 20 == 0 { clock.advance(by: .milliseconds(1)) }
            if round % 20_000 == 0 { rejections.flush(all: false, logger) }
            rejections.record(kinds[round % 1000], of: call, logger)
        }
        rejections.flush(all: true, logger)
        // 50 s overlap at most six windows.
        #expect(log.lines.count <= 6 * (RejectionLog.maximumLines + 1))
        #expect(total(log.lines) == 1_000_000)
        // Faults of the gateway itself are one kind for all callers.
        #expect(log.lines.contains { $0.metadata["code"] == "overloaded" && $0.metadata["count"] != nil })
    }

    @Test("The first rejection of a kind is logged at once, and the count of the others ten seconds later")
    func rhythm() {
        let (log, clock) = (LogRecorder(), ManualClock())
        var logger = log.logger
        logger.logLevel = .info
        let rejections = RejectionLog(clocks: clock.clocks)
        for _ in 0..<5 { rejections.record(rejection(.noRoute, "no such path", from: 1), of: call, logger) }
        rejections.record(rejection(.noRoute, "no such path", from: 2), of: call, logger)
        rejections.flush(all: false, logger)
        #expect(log.lines.map(\.message) == ["Call rejected", "Call rejected"])
        clock.advance(by: .seconds(10))
        rejections.flush(all: false, logger)
        #expect(log.lines.last?.message == "Further calls were rejected" && log.lines.last?.metadata["count"] == "4")
        #expect(log.lines.count == 3)
    }

    @Test("The level debug logs each rejected call, and the level warning logs none of them")
    func levels() {
        let log = LogRecorder()
        var logger = log.logger
        let rejections = RejectionLog(clocks: ManualClock().clocks)
        logger.logLevel = .debug
        for _ in 0..<5 { rejections.record(rejection(.noRoute, "no such path", from: 1), of: call, logger) }
        #expect(log.lines.count == 5)
        logger.logLevel = .warning
        for _ in 0..<5 { rejections.record(rejection(.noRoute, "no such path", from: 1), of: call, logger) }
        rejections.flush(all: true, logger)
        #expect(log.lines.count == 5)
    }
}
