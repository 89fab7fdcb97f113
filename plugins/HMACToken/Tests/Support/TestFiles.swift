import Foundation
import GatewayTesting

extension TestFiles {
    /// Writes a key file and returns its path.
    @discardableResult
    func write(_ text: String, mode: Int = 0o600) throws -> String {
        try write(text, to: "token-keys.yaml", mode: mode)
    }
}
