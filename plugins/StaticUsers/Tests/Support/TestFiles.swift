import Foundation
import GatewayTesting

extension TestFiles {
    /// Writes a users file and returns its path.
    @discardableResult
    func write(_ text: String, mode: Int = 0o600) throws -> String { try write(text, to: "users.yaml", mode: mode) }
}
