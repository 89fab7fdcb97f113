import Foundation
import GatewayTesting

extension TestData {
    static var jsonTestSuite: [URL] {
        let urls = corpus("JSONTestSuite").flatMap {
            try? FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
        }
        return (urls ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    static var wycheproof: Data? { corpus("wycheproof/hmac_sha256_test.json").flatMap { try? Data(contentsOf: $0) } }
}
