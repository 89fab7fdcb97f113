public import GatewaySupport

/// An authenticator whose identity provider logs users in through their browser: by an authorization code (RFC 6749,
/// section 4.1) with PKCE (RFC 7636), as OpenID Connect Core 1.0 describes it in section 3.1.
public protocol BrowserLoginProvider: Authenticator {
    /// Whether the configuration offers such logins.
    var offersBrowserLogins: Bool { get }

    /// Returns the URL to which the browser is redirected for the login. May wait for the provider.
    func beginLogin(_ request: BrowserLoginRequest) async -> BrowserLoginStart

    /// Redeems the code that the browser has brought back and verifies whom it stands for. A code is accepted once.
    ///
    /// Ends within a few seconds, also if the provider does not respond. Never returns `notMine`.
    func completeLogin(_ response: BrowserLoginResponse) async -> AuthenticationOutcome
}

/// The parameters of a login that begins.
public struct BrowserLoginRequest: Sendable {
    /// The URL to which the provider redirects the browser after the login.
    public let redirectURI: String
    /// The value that the provider returns unchanged (`state`), in characters that need no escape in a URL.
    public let state: String
    /// The value that the provider includes in the token (`nonce`), in characters that need no escape in a URL.
    public let nonce: String
    /// The SHA-256 digest of the verifier in base64url (`code_challenge` of the method `S256`).
    public let codeChallenge: String
    /// Whether the user must prove again who they are, even if they are logged in at the provider.
    public let requiresNewProof: Bool

    /// Creates a request.
    public init(redirectURI: String, state: String, nonce: String, codeChallenge: String, requiresNewProof: Bool) {
        self.redirectURI = redirectURI
        self.state = state
        self.nonce = nonce
        self.codeChallenge = codeChallenge
        self.requiresNewProof = requiresNewProof
    }
}

/// The result of beginning a login.
public enum BrowserLoginStart: Sendable, Hashable {
    /// The browser goes to this URL of the provider.
    case redirect(to: String)
    /// The provider cannot log in anybody now.
    case unavailable(OutageReason)
}

/// What the browser brings back from the provider, with the values from the beginning of the login.
public struct BrowserLoginResponse: Sendable {
    /// The authorization code (`code`).
    public let code: Secret
    /// The issuer that the response names (`iss`, RFC 9207); nil if it names none.
    public let issuer: String?
    /// The text whose digest was the `codeChallenge` of the request.
    public let verifier: Secret
    /// The `nonce` of the request.
    public let nonce: String
    /// The `redirectURI` of the request.
    public let redirectURI: String
    /// The earliest time at which the user may have proved who they are; nil if an earlier login at the provider
    /// suffices.
    public let provedSince: WallTime?

    /// Creates a response.
    public init(
        code: Secret, issuer: String?, verifier: Secret, nonce: String, redirectURI: String, provedSince: WallTime?
    ) {
        self.code = code
        self.issuer = issuer
        self.verifier = verifier
        self.nonce = nonce
        self.redirectURI = redirectURI
        self.provedSince = provedSince
    }
}
