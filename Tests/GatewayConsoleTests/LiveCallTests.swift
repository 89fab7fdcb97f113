import GatewayCore
import GatewayStore
import GatewaySupport
import Testing

@testable import GatewayConsole

@Suite("Live calls")
struct LiveCallTests {
    private func lines(_ records: [String]) -> [UInt8] { Array((records.joined(separator: "\n") + "\n").utf8) }

    private let outcome =
        #"{"seq":1,"kind":"outcome","action":"send","user":"alice","recipient":"bob","result":"accepted"}"#
    private let refusal = #"{"seq":2,"kind":"refusal","action":"send","attempted":"<b>","result":"login-failed"}"#

    @Test("Results of sends and refusals are calls; other records are not")
    func kinds() {
        let calls = LiveCalls.calls(
            lines([
                outcome, refusal, #"{"seq":3,"kind":"intent","action":"send"}"#, "no JSON",
                #"{"seq":4,"kind":"outcome","action":"register-update"}"#,
            ]))
        #expect(calls.map(\.isRefusal) == [false, true])
    }

    @Test("Of many calls the newest are kept, in their order")
    func bound() {
        let many = (0..<1000).map { #"{"seq":\#($0),"kind":"outcome","action":"send","user":"u\#($0)"}"# }
        let calls = LiveCalls.calls(lines(many))
        #expect(calls.count == LiveCalls.maximumCalls)
        #expect(calls.last?.record["user"]?.string == "u999" && calls.first?.record["user"]?.string == "u950")
    }

    @Test("A page receives only the calls that match its filters")
    func filters() {
        let calls = LiveCalls.calls(lines([outcome, refusal]))
        func matching(_ query: [String: String]) -> Int { calls.count(where: LiveFilter(query, NameRules()).matches) }
        #expect(matching([:]) == 1 && matching(["kind": "refusals"]) == 1)
        #expect(matching(["from": "Alice", "to": "bob"]) == 1 && matching(["from": "bob"]) == 0)
        let zoe = LiveCalls.calls(lines([outcome.replacing("bob", with: "zo_xc3_xab")]))
        for name in ["zo\u{EB}", "zo_xc3_xab"] {
            #expect(zoe.allSatisfy(LiveFilter(["to": name], NameRules(escaping: .hex)).matches), "\(name)")
        }
        #expect(matching(["result": "accepted"]) == 1 && matching(["result": "pending"]) == 0)
    }

    @Test("Cells contain text and paths of the console, never markup")
    func cells() throws {
        let calls = LiveCalls.calls(lines([outcome, refusal]))
        let text = String(decoding: JSONWriter.bytes(of: LiveRow.cells(calls[0])), as: UTF8.self)
        #expect(text.contains(#""href":"/users/alice""#) && text.contains(#""text":"bob""#))
        guard case .array(let cells) = LiveRow.cells(calls[1]) else { return #expect(Bool(false)) }
        #expect(cells.count == 9 && cells[1]["parts"]?.items?.first?["text"]?.string == "<b>")
    }

    @Test("A call of one of several gateways has a cell for its name")
    func nodes() throws {
        let calls = LiveCalls.calls([outcome, refusal].map { AuditLine(Array($0.utf8), node: "gw2") })
        #expect(calls.map(\.node) == ["gw2", "gw2"])
        for (call, count) in zip(calls, [9, 10]) {
            guard case .array(let cells) = LiveRow.cells(call) else { return #expect(Bool(false)) }
            #expect(cells.count == count && cells[1]["parts"]?.items?.first?["text"]?.string == "gw2")
        }
    }
}
