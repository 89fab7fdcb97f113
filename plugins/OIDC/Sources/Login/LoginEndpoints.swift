internal import GatewayCore
internal import GatewaySupport
internal import NIOCore
internal import Synchronization

/// The addresses of the provider at which users log in, from its discovery document.
struct LoginEndpoints: Sendable, Hashable {
    /// `authorization_endpoint`, to which browsers go.
    let authorization: String
    /// `token_endpoint`, at which the gateway redeems codes.
    let token: String
    /// Whether the provider takes the client's secret in the form only (`client_secret_post`).
    let takesSecretInForm: Bool
    /// Whether the provider promises to name itself in its responses (RFC 9207, section 3).
    let namesIssuer: Bool

    init(_ document: DiscoveryDocument) throws(ProviderFailure) {
        authorization = try document.url("authorization_endpoint")
        token = try document.url("token_endpoint")
        // The default is `client_secret_basic` (OpenID Connect Discovery 1.0, section 3).
        let methods = document.members["token_endpoint_auth_methods_supported"].flatMap(TokenClaims.texts) ?? []
        takesSecretInForm = methods.contains("client_secret_post") && !methods.contains("client_secret_basic")
        namesIssuer = document.members["authorization_response_iss_parameter_supported"] == .bool(true)
    }
}

/// The endpoints as read last. They are read for the first login, again after 15 minutes, and at most once in five
/// seconds after a failure. Those that could not be read again serve for 24 hours.
final class LoginEndpointCache: Sendable {
    /// The time after a failure in which the provider is not asked again.
    static let pause = Duration.seconds(5)

    private struct State {
        var known: (endpoints: LoginEndpoints, read: MonotonicInstant)?
        var failure: (ProviderFailure, at: MonotonicInstant)?
        var reading: Task<Result<LoginEndpoints, ProviderFailure>, Never>?
    }

    private let issuer: String
    private let client: ProviderClient
    private let clocks: Clocks
    private let state = Mutex(State())

    init(issuer: String, client: ProviderClient, clocks: Clocks) {
        self.issuer = issuer
        self.client = client
        self.clocks = clocks
    }

    /// Returns the endpoints. Waits for a reading if they are not known; one reading is in progress at a time.
    func endpoints() async throws(ProviderFailure) -> LoginEndpoints {
        let now = clocks.monotonic()
        let next: Result<Task<Result<LoginEndpoints, ProviderFailure>, Never>, ProviderFailure>? =
            state.withLock { state in
                if let known = state.known, now < known.read.advanced(by: ProviderKeys.refreshInterval) { return nil }
                if let reading = state.reading { return .success(reading) }
                if let failure = state.failure, now < failure.at.advanced(by: Self.pause) {
                    return .failure(failure.0)
                }
                let reading = Task { await read(at: now) }
                state.reading = reading
                return .success(reading)
            }
        do throws(ProviderFailure) {
            if let next { return try await next.get().value.get() }
        } catch {
            guard let known = usable(at: now) else { throw error }
            return known
        }
        guard let known = usable(at: now) else { throw ProviderFailure("the endpoints are not known") }
        return known
    }

    private func usable(at now: MonotonicInstant) -> LoginEndpoints? {
        state.withLock(\.known).flatMap { now < $0.read.advanced(by: ProviderKeys.maximumAge) ? $0.endpoints : nil }
    }

    private func read(at now: MonotonicInstant) async -> Result<LoginEndpoints, ProviderFailure> {
        let result: Result<LoginEndpoints, ProviderFailure>
        do throws(ProviderFailure) {
            let document = try await DiscoveryDocument(of: issuer, by: client, .now() + client.bounds.time)
            result = .success(try LoginEndpoints(document))
        } catch {
            result = .failure(error)
        }
        state.withLock { state in
            state.reading = nil
            switch result {
            case .success(let endpoints): (state.known, state.failure) = ((endpoints, now), nil)
            case .failure(let failure): state.failure = (failure, clocks.monotonic())
            }
        }
        return result
    }
}
