import GatewayCore
import GatewayTesting
import Logging
import Testing

@testable import Gateway

@Suite("Log of refusals")
struct RefusalLogTests {
    private let call = CallID(process: 1, number: 1)

    private func refusal(_ code: RefusalCode, _ detail: String, from address: UInt32) -> Refusal {
        Refusal(code, detail).with(CallFacts(call: call, peer: .v4(address)))
    }

    /// How many refused calls the lines stand for.
    private func total(_ lines: [LogRecorder.Line]) -> Int {
        lines.reduce(0) { $0 + ($1.metadata["count"].flatMap { Int($0) } ?? 1) }
    }

    @Test("A million refused calls of several kinds and many addresses write a bounded log that counts each of them")
    func million() {
        let (log, clock) = (LogRecorder(), ManualClock())
        var logger = log.logger
        logger.logLevel = .info
        let refusals = RefusalLog(clocks: clock.clocks)
        let kinds = (0..<1000 as Range<UInt32>).map { number in
            switch number % 4 {
            case 0: refusal(.noRoute, "no such path", from: number)
            case 1: refusal(.credentialsMissing, "no Authorization", from: number)
            case 2: refusal(.overloaded, "too many calls are in flight", from: number)
            default: refusal(.journalUnavailable, "no space", from: number)
            }
        }
        for round in 0..<1_000_000 {
            // 20,000 a second, for 50 s.
            if round % 20 == 0 { clock.advance(by: .milliseconds(1)) }
            if round % 20_000 == 0 { refusals.settle(all: false, logger) }
            refusals.note(kinds[round % 1000], of: call, logger)
        }
        refusals.settle(all: true, logger)
        // In 50 s there are six windows at most.
        #expect(log.lines.count <= 6 * (RefusalLog.most + 1))
        #expect(total(log.lines) == 1_000_000)
        // The gateway's own faults are one kind, whoever has met them.
        #expect(log.lines.contains { $0.metadata["code"] == "overloaded" && $0.metadata["count"] != nil })
    }

    @Test("The first of a kind is logged at once, and the number of the others ten seconds later")
    func rhythm() {
        let (log, clock) = (LogRecorder(), ManualClock())
        var logger = log.logger
        logger.logLevel = .info
        let refusals = RefusalLog(clocks: clock.clocks)
        for _ in 0..<5 { refusals.note(refusal(.noRoute, "no such path", from: 1), of: call, logger) }
        refusals.note(refusal(.noRoute, "no such path", from: 2), of: call, logger)
        refusals.settle(all: false, logger)
        #expect(log.lines.map(\.message) == ["Call rejected", "Call rejected"])
        clock.advance(by: .seconds(10))
        refusals.settle(all: false, logger)
        #expect(log.lines.last?.message == "Further calls were rejected" && log.lines.last?.metadata["count"] == "4")
        #expect(log.lines.count == 3)
    }

    @Test("At the level debug each refused call has a line of its own, and what the level leaves out costs nothing")
    func levels() {
        let log = LogRecorder()
        var logger = log.logger
        let refusals = RefusalLog(clocks: ManualClock().clocks)
        logger.logLevel = .debug
        for _ in 0..<5 { refusals.note(refusal(.noRoute, "no such path", from: 1), of: call, logger) }
        #expect(log.lines.count == 5)
        logger.logLevel = .warning
        for _ in 0..<5 { refusals.note(refusal(.noRoute, "no such path", from: 1), of: call, logger) }
        refusals.settle(all: true, logger)
        #expect(log.lines.count == 5)
    }
}
