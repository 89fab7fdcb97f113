import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Audit: indexes of the former format")
struct FormerIndexTests {
    @Test("An index of the former format is not used and no damage, and is built again")
    func rebuilding() async throws {
        let fixture = try await AuditFixture()
        let index = AuditIndex(directory: fixture.directory.path)
        try index.update()
        index.close()
        let names = try fixture.indexNames()
        let whole = try names.map { try fixture.directory.bytes($0) }
        for (name, bytes) in zip(names, whole) {
            try IndexDamage.overwrite(fixture.directory(name), with: Array("NGidx001".utf8) + bytes.dropFirst(8))
        }
        #expect(AuditTrail.compareIndex(directory: fixture.directory.path) == .absent)
        let again = AuditIndex(directory: fixture.directory.path)
        try again.update()
        #expect(try names.map { try fixture.directory.bytes($0) } == whole)
        guard case .agrees = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("the indexes differ")
            return
        }
    }
}
