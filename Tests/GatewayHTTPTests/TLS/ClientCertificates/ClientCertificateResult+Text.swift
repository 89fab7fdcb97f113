import GatewayCore
import GatewaySupport
import GatewayTesting

@testable import GatewayHTTP

extension ClientCertificateResult {
    /// The result as text: the common name of a verified certificate, the reason of an invalid one, or `unverifiable`.
    var text: String {
        switch self {
        case .verified(let certificate): "CN=" + certificate.commonNames.joined(separator: "+")
        case .invalid(let reason): reason.rawValue
        case .unverifiable: "unverifiable"
        }
    }
}

extension ClientAuthorities {
    /// The authorities of a test at the time `.test`.
    static func of(_ authorities: TestAuthority..., revoking lists: String? = nil) throws -> ClientAuthorities {
        try ClientAuthorities(
            authorities: authorities.map(\.certificate).joined(), revocationLists: lists, now: .test)
    }

    /// Verifies a chain and returns the result as text.
    func result(_ leaf: TestClientCertificate, _ others: TestAuthority..., now: WallTime = .test) -> String {
        verify([leaf.der] + others.map(\.der), now: now).result.text
    }
}

extension WallTime {
    /// Returns the test time plus a number of seconds.
    static func test(plus seconds: Int64) -> WallTime { WallTime(seconds: WallTime.test.seconds + seconds) }
}
