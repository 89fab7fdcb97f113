public import GatewayCore

/// A user who has proved outside of a call who they are: with a password, or at an identity provider.
public struct VerifiedLogin: Sendable {
    /// The user, with the groups that the authenticator reported.
    public let identity: Identity
    /// The name by which the authenticator knows the account.
    public let login: LoginName
    /// The revocation epoch, read before the verification. A later revocation of the user ends the login.
    public let epoch: RevocationEpoch

    /// The login at an identity provider; nil after a login with a password.
    public var provider: ProviderLogin? { identity.token?.provider }

    /// Creates a login.
    package init(identity: Identity, login: LoginName, epoch: RevocationEpoch) {
        self.identity = identity
        self.login = login
        self.epoch = epoch
    }
}

extension Gateway {
    /// Verifies a user name and a password that did not arrive in a call: those of a login form.
    ///
    /// The throttle, the limits of logins, the delay of wrong passwords and the records of failed logins are those of
    /// calls. Called on an event loop.
    ///
    /// - Parameters:
    ///   - password: The bytes of the password.
    ///   - call: The id for records and log lines.
    /// - Returns: The user, or the rejection, which is recorded and logged already.
    public func logIn(
        _ user: String, password: [UInt8], from peer: Peer, as call: CallID
    ) async -> Result<VerifiedLogin, Rejection> {
        var facts = CallFacts(call: call, peer: peer)
        facts.action = .operatorLogin
        do throws(Rejection) {
            return .success(try await authentication.authenticate(user: user, password: password, facts))
        } catch {
            _ = rejectionResponder.response(error, of: call)
            return .failure(error)
        }
    }

    /// Returns the URL of the identity provider for a login through a browser.
    public func beginBrowserLogin(_ request: BrowserLoginRequest) async -> BrowserLoginStart {
        await authentication.credentialVerifier.chain.beginBrowserLogin(request)
    }

    /// Completes a login through a browser at an identity provider.
    ///
    /// The limits of logins and the records of failed logins are those of calls with a token. Called on an event loop.
    ///
    /// - Parameters:
    ///   - epoch: The revocation epoch at the beginning of the login.
    ///   - call: The id for records and log lines.
    /// - Returns: The user, or the rejection, which is recorded and logged already.
    public func completeBrowserLogin(
        _ response: BrowserLoginResponse, since epoch: RevocationEpoch, from peer: Peer, as call: CallID
    ) async -> Result<VerifiedLogin, Rejection> {
        var facts = CallFacts(call: call, peer: peer)
        facts.action = .operatorLogin
        do throws(Rejection) {
            return .success(try await authentication.authenticate(response, since: epoch, facts))
        } catch {
            _ = rejectionResponder.response(error, of: call)
            return .failure(error)
        }
    }
}
