internal import GatewaySupport
internal import NIOCore

/// The provider's description of itself (OpenID Connect Discovery 1.0, section 3).
struct DiscoveryDocument: Sendable {
    private static let name = "the discovery document"

    let members: JSONValue
    private let issuer: String

    /// Reads the document of an issuer.
    init(of issuer: String, by client: ProviderClient, _ deadline: NIODeadline) async throws(ProviderFailure) {
        let bytes = try await client.document(at: ProviderURL.discovery(of: issuer), Self.name, deadline)
        guard let members = try? JSONParser(depthLimit: 8, memberLimit: 2048).parse(bytes.span) else {
            throw ProviderFailure("\(Self.name) is not a JSON document, or names a member twice")
        }
        guard members["issuer"]?.string == issuer else {
            throw ProviderFailure("\(Self.name) is of another issuer")
        }
        self.members = members
        self.issuer = issuer
    }

    /// Returns the URL in a member, which must be as safe as that of the issuer.
    func url(_ member: String) throws(ProviderFailure) -> String {
        guard let url = members[member]?.string else { throw ProviderFailure("\(Self.name) has no \(member)") }
        if let fault = ProviderURL.fault(in: url, allowsPlaintext: ProviderURL.isPlaintext(issuer)) {
            throw ProviderFailure("\(member) of \(Self.name) \(fault)")
        }
        return url
    }
}
