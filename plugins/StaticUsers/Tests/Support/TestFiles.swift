import Foundation
import GatewayTesting

extension TestFiles {
    /// Writes the plug-in's own file and answers its path.
    @discardableResult
    func write(_ text: String, mode: Int = 0o600) throws -> String { try write(text, to: "users.yaml", mode: mode) }
}
