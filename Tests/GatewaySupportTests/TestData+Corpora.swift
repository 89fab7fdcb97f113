import Foundation
import GatewayTesting

extension TestData {
    static var wycheproof: Data? { corpus("wycheproof/hmac_sha256_test.json").flatMap { try? Data(contentsOf: $0) } }
}
