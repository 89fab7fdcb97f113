internal import Gateway
package import GatewayConfiguration
internal import GatewayCore
package import GatewayHTTP
package import GatewaySupport
internal import NIOCore

/// The list of all registrations of the configured notification hub.
package struct HubRegistrations: Sendable {
    /// The hub's name as an upstream.
    let name: UpstreamName
    /// The push services that the hub serves.
    let services: Set<PushService>
    private let hub: HubSettings
    private let connector: BackendConnector
    private let clocks: Clocks

    /// Why a hub's list cannot be read, for the operator.
    struct Unavailable: Error {
        let reason: String
        /// Whether another attempt would fail too.
        var isPermanent = false
    }

    /// The maximum length of a page in bytes: 100 entries of the longest kind.
    private static let maximumPageLength = 100 * ExportEntry.maximumLength
    /// The number of times that a page is requested again when the hub is too busy.
    private static let maximumRetries = 10
    private static let standardWait = 10
    private static let maximumWait = 60

    /// Creates the list. Returns nil if the configuration has no hub outside this process.
    ///
    /// - Parameter tls: The verification of the backends' certificates, in the order of the configuration; nil without
    ///   TLS.
    package init?(configuration: ServerConfiguration, tls: [ClientTLS?], clocks: Clocks) {
        guard let (section, hub, address, tls) = configuration.remoteHub(tls) else { return nil }
        name = section.name
        services = section.services
        self.hub = hub
        self.clocks = clocks
        connector = BackendConnector(address: address, tls: tls)
    }

    /// Reads the list, page by page. A hub that is too busy is asked again after the time that it states, up to ten
    /// times for a page.
    ///
    /// - Parameters:
    ///   - connectionString: A connection string of the same namespace whose key has the right Manage.
    ///   - receive: Receives the registrations of a page.
    func read(
        with connectionString: String, _ receive: ([ExportEntry]) throws(Unavailable) -> Void
    ) async throws(Unavailable) {
        let listing = HubListing(try settings(with: connectionString), clocks: clocks)
        var continuation: String?
        var former: Set<String> = []
        repeat {
            let response = try await page(listing, after: continuation)
            guard let entries = ExportEntryReader.readFeed(response.body.readableBytesView) else {
                throw Unavailable(reason: "the hub's list is not a feed of registrations", isPermanent: true)
            }
            try receive(entries)
            continuation = response.continuation
            if let continuation, !former.insert(continuation).inserted {
                throw Unavailable(reason: "the hub's list goes in a circle", isPermanent: true)
            }
        } while continuation != nil
    }

    private func settings(with connectionString: String) throws(Unavailable) -> HubSettings {
        var settings = hub
        do throws(HubConnectionString.Malformed) {
            settings.connection = try HubConnectionString(connectionString)
        } catch {
            throw Unavailable(reason: "the connection string \(error.rawValue)", isPermanent: true)
        }
        guard settings.connection.hostField == hub.connection.hostField else {
            throw Unavailable(
                reason: "the connection string is for \(settings.connection.hostField), but the configured hub is at "
                    + hub.connection.hostField, isPermanent: true)
        }
        return settings
    }

    private func page(_ listing: HubListing, after continuation: String?) async throws(Unavailable) -> BackendResponse {
        var retries = 0
        while true {
            let response: BackendResponse
            do throws(ProbeError) {
                response = try await connector.exchange(
                    listing.request(after: continuation), bodyLimit: Self.maximumPageLength)
            } catch {
                throw Unavailable(reason: error.detail)
            }
            switch response.status {
            case 200: return response
            case 401, 403:
                throw Unavailable(
                    reason: "the hub rejects the key; it needs the right Manage (\(HubListing.detail(of: response)))",
                    isPermanent: true)
            case 404:
                throw Unavailable(reason: "the namespace has no hub with the name \(hub.name)", isPermanent: true)
            case 409, 429, 503:
                guard retries < Self.maximumRetries else { fallthrough }
                retries += 1
                let seconds = min(response.retryAfter ?? Self.standardWait, Self.maximumWait)
                do { try await Task.sleep(for: .seconds(seconds)) } catch {
                    throw Unavailable(reason: "the gateway stops")
                }
            default: throw Unavailable(reason: HubListing.detail(of: response))
            }
        }
    }
}
