import GatewaySupport
import Testing

@testable import StaticUsers

extension StaticUsersAuthenticator {
    /// Reloads a file that takes something from so many users until it counts.
    func settle(afterLosses count: Int) async throws {
        for look in 0...count {
            #expect(await reload().map(\.severity) == [.warning], "look \(look)")
        }
        #expect(await reload() == [])
    }
}
