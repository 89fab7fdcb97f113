internal import GatewayCore
internal import GatewaySupport
internal import Logging

extension OIDCAuthenticator: BrowserLoginProvider {
    var offersBrowserLogins: Bool { codeFlow != nil }

    func beginLogin(_ request: BrowserLoginRequest) async -> BrowserLoginStart {
        guard let codeFlow else { return .unavailable(.failed) }
        do throws(ProviderFailure) {
            return .redirect(to: try await codeFlow.authorizationURL(for: request))
        } catch {
            codeFlow.report("Provider cannot begin logins", "\(error)")
            return .unavailable(.failed)
        }
    }

    func completeLogin(_ response: BrowserLoginResponse) async -> AuthenticationOutcome {
        guard let codeFlow else { return .unavailable(.failed) }
        let redemption: CodeFlow.Redemption
        do throws(ProviderFailure) {
            redemption = try await codeFlow.redeem(response)
        } catch {
            codeFlow.report("Provider cannot complete logins", "\(error)")
            return .unavailable(.failed)
        }
        switch redemption {
        case .token(let token): return await outcome(of: token, response, codeFlow)
        case .rejected(let reason, let detail):
            codeFlow.report("Login at the provider rejected", detail, at: .notice)
            return .rejected(reason)
        case .busy: return .unavailable(.busy)
        }
    }

    /// Verifies the ID token. For an unknown key, reads the provider's keys if `authenticate` would.
    private func outcome(
        of token: Secret, _ response: BrowserLoginResponse, _ codeFlow: CodeFlow
    ) async -> AuthenticationOutcome {
        let rules = LoginRules(
            client: codeFlow.settings.client, nonce: response.nonce, provedSince: response.provedSince)
        let now = context.clocks.wall()
        guard let (outcome, current) = await keys.verify({ $0.verify(token, of: rules, at: now) }) else {
            return .unavailable(.busy)
        }
        switch outcome {
        case .unknownKey(let issued): return current.outcome(ofTokenIssued: issued)
        case .foreign(let reason):
            // The provider's own response has no token of another authenticator.
            codeFlow.report("Login at the provider rejected", "the ID token is not one of the issuer", at: .notice)
            return .rejected(reason)
        case .rejected(let fault):
            let detail = fault.detail(keys.rules.settings, client: rules.client)
            codeFlow.report("Login at the provider rejected", "of the ID token, \(detail)", at: .notice)
            return outcome.result(in: context)
        case .accepted: return outcome.result(in: context)
        }
    }
}
