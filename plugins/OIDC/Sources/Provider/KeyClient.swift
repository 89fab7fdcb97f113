internal import NIOCore

/// Reads the provider's discovery document and key set over HTTP.
final class KeyClient: Sendable {
    /// The time for one reading of the keys, the discovery included, and the maximum size of a document.
    static let bounds = ProviderClient.Bounds(time: .seconds(2), size: KeySet.maximumSize, connections: 1)

    private let issuer: String
    private let location: OIDCPlugin.KeyLocation
    private let client: ProviderClient

    init(_ settings: OIDCPlugin.Settings, _ authorities: TrustedAuthorities?) {
        issuer = settings.issuer
        location = settings.keys
        client = ProviderClient(authorities, Self.bounds)
    }

    /// Reads the key set. Ends at the deadline at the latest.
    func keys() async throws(ProviderFailure) -> KeySet {
        let deadline = NIODeadline.now() + client.bounds.time
        let url: String
        switch location {
        case .discovery: url = try await DiscoveryDocument(of: issuer, by: client, deadline).url("jwks_uri")
        case .url(let text): url = text
        // A file is read by `KeySetFile`.
        case .file: throw ProviderFailure("the keys are in a file")
        }
        let document = try await client.document(at: url, "the key set", deadline)
        do { return try KeySet(document) } catch { throw ProviderFailure("the key set \(error)") }
    }
}
