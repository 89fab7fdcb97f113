import GatewayCore
import GatewaySupport
import Testing

@Suite("Selection of calls with spans")
struct TraceSamplingTests {
    private static func parent(_ trace: UInt64, isSampled: Bool) throws -> TraceContext {
        let id = CallID(process: 7, number: trace).text
        return try #require(TraceContext(traceparent: "00-\(id)-b7ad6b7169203331-0\(isSampled ? 1 : 0)".utf8))
    }

    @Test("The ratio applies to calls without a parent, whose ids are successive", arguments: [0, 0.01, 0.25, 1])
    func ratio(_ ratio: Double) {
        let sampling = TraceSampling(ratio: ratio)
        let selected = (1...20_000).count { sampling.selects(TraceContext(of: CallID(process: 7, number: $0))) }
        #expect(abs(Double(selected) / 20_000 - ratio) <= 0.005)
        if ratio == 0 || ratio == 1 { #expect(selected == Int(ratio * 20_000)) }
    }

    @Test("The flag of a parent decides, unless it is not followed")
    func parent() throws {
        for isSampled in [true, false] {
            for ratio in [0.0, 1] {
                let trace = try Self.parent(9, isSampled: isSampled)
                #expect(TraceSampling(ratio: ratio).selects(trace) == isSampled)
                #expect(TraceSampling(ratio: ratio, followsParent: false).selects(trace) == (ratio == 1))
            }
        }
    }

    @Test("The decision depends on the trace id alone")
    func isStable() throws {
        let sampling = TraceSampling(ratio: 0.5, followsParent: false)
        for number in 1...100 as ClosedRange<UInt64> {
            let own = sampling.selects(TraceContext(of: CallID(process: 7, number: number)))
            for isSampled in [true, false] {
                #expect(sampling.selects(try Self.parent(number, isSampled: isSampled)) == own)
            }
        }
    }

    @Test("A ratio outside of its range is limited", arguments: [(-1, 0), (2, 1), (Double.nan, 0), (.infinity, 1)])
    func limits(ratio: Double, limited: Double) { #expect(TraceSampling(ratio: ratio).ratio == limited) }

    @Test("Span ids differ and are never 0")
    func spanIDs() {
        let ids = (0..<10_000).map { _ in TraceContext.nextSpan() }
        #expect(Set(ids).count == ids.count && !ids.contains(0))
    }
}
