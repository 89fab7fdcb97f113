internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import NIOCore
internal import Synchronization

/// The part of a login that speaks with the provider: the URL for the browser, and the exchange of a code for an ID
/// token (OpenID Connect Core 1.0, section 3.1).
///
/// Codes, verifiers and tokens are not kept beyond the exchange and are never logged.
final class CodeFlow: Sendable {
    /// The time for one exchange, and the maximum size of a document. A token has at most 16 KiB.
    static let bounds = ProviderClient.Bounds(time: .seconds(5), size: 131_072, connections: 8)
    /// The maximum number of exchanges in progress.
    static let maximumInProgress = 64
    /// The time in which at most one failure is logged, because everybody can cause them.
    private static let logPeriod = Duration.seconds(5)

    let settings: OIDCPlugin.LoginSettings
    private let issuer: String
    private let client: ProviderClient
    private let endpoints: LoginEndpointCache
    private let context: PluginContext
    private let inProgress = Atomic(0)
    private let logged = Mutex<MonotonicInstant?>(nil)

    init(
        _ settings: OIDCPlugin.LoginSettings, issuer: String, _ authorities: TrustedAuthorities?,
        _ context: PluginContext
    ) {
        self.settings = settings
        self.issuer = issuer
        self.context = context
        client = ProviderClient(authorities, Self.bounds)
        endpoints = LoginEndpointCache(issuer: issuer, client: client, clocks: context.clocks)
    }

    /// Returns the URL at which the browser asks for a code.
    func authorizationURL(for request: BrowserLoginRequest) async throws(ProviderFailure) -> String {
        let endpoint = try await endpoints.endpoints().authorization
        var parameters = [
            ("response_type", "code"), ("client_id", settings.client), ("redirect_uri", request.redirectURI),
            ("scope", settings.scopes.joined(separator: " ")), ("state", request.state), ("nonce", request.nonce),
            ("code_challenge", request.codeChallenge), ("code_challenge_method", "S256"),
        ]
        // Providers that ignore one of both honour the other; `auth_time` then tells whether they did.
        if request.requiresNewProof { parameters += [("prompt", "login"), ("max_age", "0")] }
        return endpoint + (endpoint.contains("?") ? "&" : "?") + FormText.encode(parameters)
    }

    /// The result of redeeming a code.
    enum Redemption: Sendable {
        /// The ID token, which is not verified.
        case token(Secret)
        /// The code is not valid, or is not this provider's. The detail is a clause for the log.
        case rejected(InvalidCredentialReason, detail: String)
        /// Too many exchanges are in progress.
        case busy
    }

    /// Redeems a code. Ends at the deadline at the latest.
    ///
    /// - Throws: The reason why the provider cannot redeem codes now.
    func redeem(_ response: BrowserLoginResponse) async throws(ProviderFailure) -> Redemption {
        guard inProgress.add(1, ordering: .relaxed).newValue <= Self.maximumInProgress else {
            inProgress.subtract(1, ordering: .relaxed)
            return .busy
        }
        defer { inProgress.subtract(1, ordering: .relaxed) }
        let deadline = NIODeadline.now() + Self.bounds.time
        let endpoints = try await endpoints.endpoints()
        // The code of another provider must not be sent to this one (RFC 9207, section 2.4).
        if response.issuer != issuer, response.issuer != nil || endpoints.namesIssuer {
            return .rejected(.untrusted, detail: "the response in the browser is not one of the issuer")
        }
        let (form, authorization) = try await tokenRequest(response, endpoints)
        let (status, body) = try await client.post(
            form, to: endpoints.token, "the response to the code", authorization: authorization, deadline)
        return try Self.redemption(status, body)
    }

    /// Returns the form of the token request and its `Authorization` (RFC 6749, sections 2.3.1 and 4.1.3).
    private func tokenRequest(
        _ response: BrowserLoginResponse, _ endpoints: LoginEndpoints
    ) async throws(ProviderFailure) -> (form: String, authorization: String?) {
        var parameters = [
            ("grant_type", "authorization_code"), ("code", response.code.text),
            ("redirect_uri", response.redirectURI), ("code_verifier", response.verifier.text),
        ]
        guard let file = settings.secretFile else {
            parameters.append(("client_id", settings.client))
            return (FormText.encode(parameters), nil)
        }
        let secret: Secret
        do { secret = try await ClientSecretFile.read(file, context: context) } catch {
            throw ProviderFailure("the client's secret was not read: \(error)")
        }
        if endpoints.takesSecretInForm {
            parameters += [("client_id", settings.client), ("client_secret", secret.text)]
            return (FormText.encode(parameters), nil)
        }
        let pair = "\(FormText.encode(settings.client)):\(FormText.encode(secret.text))"
        let encoded = String(decoding: Base64.encode(Array(pair.utf8), .standard), as: UTF8.self)
        return (FormText.encode(parameters), "Basic \(encoded)")
    }

    /// Reads the response of the token endpoint (RFC 6749, sections 5.1 and 5.2).
    private static func redemption(_ status: UInt, _ body: [UInt8]) throws(ProviderFailure) -> Redemption {
        let name = "the response to the code"
        let members = try? JSONParser(depthLimit: 8, memberLimit: 1024).parse(body.span)
        guard status == 200 else {
            let error = members?["error"]?.string ?? ""
            if status == 400, error == "invalid_grant" {
                return .rejected(.wrong, detail: "the provider did not accept the code (invalid_grant)")
            }
            // The text is the provider's, so only known words are logged.
            throw ProviderFailure("\(name) has the status \(status)" + (errors.contains(error) ? " (\(error))" : ""))
        }
        guard let token = members?["id_token"]?.string else {
            throw ProviderFailure("\(name) is not a JSON document with an id_token")
        }
        return .token(Secret(token.utf8))
    }

    /// The errors of RFC 6749, section 5.2, that are mistakes of the configuration.
    private static let errors: Set<String> = [
        "invalid_request", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
    ]

    /// Logs why a login was not completed, at most once in five seconds.
    func report(_ message: Logger.Message, _ reason: String, at level: Logger.Level = .warning) {
        let now = context.clocks.monotonic()
        let isDue = logged.withLock { logged in
            if let logged, now < logged.advanced(by: Self.logPeriod) { return false }
            logged = now
            return true
        }
        guard isDue else { return }
        context.logger.log(level: level, message, metadata: ["issuer": "\(issuer)", "reason": "\(reason)"])
    }
}

extension Secret {
    /// A copy of the bytes as text. It is not wiped, so it must not be kept.
    fileprivate var text: String { withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
