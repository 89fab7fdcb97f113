import GatewayCore
import GatewaySupport
import Testing

@Suite struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test("A trace continues with another span") func aTraceContinuesWithAnotherSpan() throws {
        let context = try #require(TraceContext(traceparent: Self.valid.utf8))
        #expect(context.id == Self.trace)
        #expect(context.traceparent(span: 0xAB) == "00-\(Self.trace)-00000000000000ab-01")
        let unsampled = try #require(TraceContext(traceparent: (Self.valid.dropLast(2) + "00").utf8))
        #expect(unsampled.traceparent(span: 1) == "00-\(Self.trace)-0000000000000001-00")
    }

    @Test("A new trace has the call's id and is valid") func aNewTraceHasTheCallsIDAndIsValid() throws {
        let call = CallID(process: 0xFEED, number: 7)
        let context = TraceContext(of: call)
        #expect(context.id == call.text)
        #expect(context.parent == nil && !context.isSampled && context.sampled.isSampled)
        let continued = try #require(TraceContext(traceparent: context.sampled.traceparent(span: 7).utf8))
        #expect(continued.id == context.id && continued.parent == 7 && continued.isSampled)
    }

    @Test(
        "An invalid traceparent is ignored",
        arguments: [
            "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            // The next lines have the reserved version ff, version 00 with additional fields, other characters,
            // upper case and zeros.
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "0g-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
            "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331_01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
            " 0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ])
    func anInvalidTraceparentIsIgnored(_ text: String) {
        #expect(TraceContext(traceparent: text.utf8) == nil)
    }

    @Test("A later version may have additional fields, and continues as version 00")
    func aLaterVersionMayHaveAdditionalFieldsAndContinuesAsVersion00() throws {
        let text = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff-what-ever"
        let context = try #require(TraceContext(traceparent: text.utf8))
        #expect(context.traceparent(span: 2) == "00-\(Self.trace)-0000000000000002-01")
    }
}

extension TraceContext {
    fileprivate func traceparent(span: UInt64) -> String {
        String(decoding: [UInt8](expecting: 55) { write(traceparentWith: span, to: &$0) }, as: UTF8.self)
    }
}
