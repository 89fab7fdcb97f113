import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayOperations
@testable import GatewayStore

@Suite("Operations on the calls of all gateways")
struct SharedCallOperationsTests {
    /// A history with one call of another gateway, or one that cannot be read.
    private struct History: CallHistory {
        var outage: HistoryUnavailable?

        func received(
            by user: UserName, since: WallTime?, limit: Int
        ) async throws(HistoryUnavailable) -> [ReceivedNotification] { [] }

        func page(
            _ query: AuditQuery, after position: String?, limit: Int, isOfCalls: Bool
        ) async throws(HistoryUnavailable) -> HistoryPage? {
            if let outage { throw outage }
            guard position != "foreign" else { return nil }
            let line = #"{"seq":1,"at":"2026-11-26T05:00:00.000000Z","kind":"refusal","call":"\#(Self.call)"}"#
            return HistoryPage(rows: [[AuditLine(Array(line.utf8), node: "gw2")]], next: "7.aa.0.1")
        }

        static let call = String(repeating: "a", count: 32)
    }

    private func results(
        of name: String, _ history: History, _ arguments: [JSONValue.Member] = [], after position: String? = nil
    ) async -> ControlResults {
        let names = NameRules()
        let operations: [any ControlOperation] = [
            ListSendsOperation(calls: history, names: names), ListRefusalsOperation(calls: history, names: names),
            ShowCallOperation(calls: history),
        ]
        var page = ControlPage(limit: 1)
        page.after = position
        return await ControlOperations.test(operations)
            .results(of: ControlRequest(name, arguments), by: .process(uid: 1234), page: page)
    }

    @Test("Results name the gateway that recorded them", arguments: ["sends list", "refusals list", "calls show"])
    func nodes(_ name: String) async throws {
        let arguments: [JSONValue.Member] = name == "calls show" ? [.init("call", .string(History.call))] : []
        let results = await results(of: name, History(), arguments)
        #expect(results.error == nil)
        #expect(results.items.map { $0["node"]?.string } == ["gw2"])
        if name != "calls show" { #expect(results.next == "7.aa.0.1") }
    }

    @Test("A list that cannot be complete is an error")
    func unavailable() async throws {
        let history = History(outage: HistoryUnavailable("away"))
        for name in ["sends list", "refusals list"] {
            let results = await results(of: name, history)
            #expect(results.error?.kind == .unavailable && results.items.isEmpty)
        }
        #expect(await results(of: "sends list", History(), after: "foreign").error?.kind == .malformed)
    }
}
