import GatewaySupport
import Testing

@testable import GatewayConsole
@testable import GatewayOperations
@testable import GatewayStore

@Suite("The result of a verification on the page of the journal")
struct JournalVerificationPageTests {
    private static func model(
        _ report: JournalVerification.Report, _ gateways: [NodeJournalVerification.Result] = []
    ) -> PageModel {
        let others = JSONValue.Member("gateways", .array(gateways.map(\.item)))
        let members = report.members + [others] + (report.finding?.members ?? [])
        return JournalPages.verification(.complete(.object(members), WallTime(seconds: 1_795_000_000)))
    }

    private static func isGood(_ model: PageModel) -> Bool? { model["isGood"] as? Bool }

    @Test("The page says that a journal is unchanged only if nothing was found")
    func findings() {
        #expect(Self.isGood(Self.model(.init())) == true)
        var changed = JournalVerification.Report()
        changed.finding = .init(7, "the line was changed")
        #expect(Self.isGood(Self.model(changed)) == false)
        var incomplete = JournalVerification.Report()
        incomplete.losses = [.init(.missing, 3...5, recordedIn: 6, at: "2026-11-26T00:00:00Z")]
        #expect(Self.isGood(Self.model(incomplete)) == false)
    }

    @Test("A problem with another gateway's journal is a problem of the page")
    func otherGateways() throws {
        var other = NodeJournalVerification.Result(node: "1", host: "beta")
        #expect(Self.isGood(Self.model(.init(), [other])) == true)
        other.finding = "its journal was replaced"
        let model = Self.model(.init(), [other])
        #expect(Self.isGood(model) == false)
        let rows = try #require(model["report"] as? [PageModel])
        #expect(rows.contains { $0["name"] as? String == "gateway beta" && $0["value"] as? String == other.finding })
    }
}
