internal import GatewayCore
internal import Logging

extension AuthenticatorChain {
    /// Whether an identity provider logs users in through their browser.
    package var offersBrowserLogins: Bool { browserLogins != nil }

    /// Whether an authenticator accepts passwords.
    package var acceptsPasswords: Bool { credentialKinds.contains(.password) }

    /// The first authenticator that offers such logins.
    private var browserLogins: (link: Link, provider: any BrowserLoginProvider)? {
        links.lazy.compactMap { link in
            (link.authenticator as? any BrowserLoginProvider).flatMap { $0.offersBrowserLogins ? (link, $0) : nil }
        }.first
    }

    /// Returns the URL of the provider for a login; unavailable if no authenticator offers such logins.
    func beginBrowserLogin(_ request: BrowserLoginRequest) async -> BrowserLoginStart {
        guard let browserLogins else { return .unavailable(.failed) }
        return await browserLogins.provider.beginLogin(request)
    }

    /// Completes a login. The user must be within the scope of the authenticator, as for a token.
    func completeBrowserLogin(_ response: BrowserLoginResponse, logger: Logger) async -> VerificationResult {
        guard let (link, provider) = browserLogins else { return .unavailable(.failed) }
        let start = link.metrics?.now() ?? 0
        let outcome = await provider.completeLogin(response)
        link.metrics?.record(outcome, since: start)
        guard case .accepted(let identity) = outcome else {
            return VerificationResult(outcome: outcome, authenticator: link.name)
        }
        return VerificationResult(
            outcome: link.checked(identity, .bearer, of: nil, logger), authenticator: link.name)
    }
}
