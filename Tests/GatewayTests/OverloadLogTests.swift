import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Log of refusals")
struct OverloadLogTests {
    @Test(
        "Of calls that there is no room for the first is logged, and the number of the others; every other refusal has a line"
    )
    func merged() {
        let log = LogRecorder()
        let refusing = Refusing(
            challenges: [], recording: RefusalRecording(journal: MemoryJournal(), clocks: .system),
            overload: OverloadLog(), logger: log.logger)
        let call = CallID(process: 1, number: 1)
        for round in 1...2 {
            for _ in 0..<1000 {
                #expect(refusing.answer(Refusal(.overloaded, "full"), of: call).status == 503)
                _ = refusing.answer(Refusal(.journalUnavailable, "no space"), of: call)
            }
            refusing.settle(all: false)
            refusing.settle(all: false)
            let overloaded = log.lines.filter { $0.metadata["code"] == RefusalCode.overloaded.rawValue }
            #expect(overloaded.map(\.message).suffix(2) == ["A call was refused", "More calls were refused"])
            #expect(overloaded.map { $0.metadata["count"] }.suffix(2) == [nil, "999"])
            #expect(overloaded.count == 2 * round)
            #expect(log.lines.count == (2 + 1000) * round)
        }
        // One alone is said by its own line.
        _ = refusing.answer(Refusal(.overloaded, "full"), of: call)
        refusing.settle(all: true)
        #expect(log.lines.last?.message == "A call was refused")
    }
}
