public import GatewayCore

/// A user who has proved a password outside of a call.
public struct PasswordLogin: Sendable {
    /// The user, with the groups that the authenticator reported.
    public let identity: Identity
    /// The name by which the authenticator knows the account.
    public let login: LoginName
    /// The revocation epoch, read before the verification. A later revocation of the user ends the login.
    public let epoch: RevocationEpoch

    /// Creates a login. Called by the gateway, and by tests.
    public init(identity: Identity, login: LoginName, epoch: RevocationEpoch) {
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
    ) async -> Result<PasswordLogin, Rejection> {
        var facts = CallFacts(call: call, peer: peer)
        facts.action = .operatorLogin
        do throws(Rejection) {
            return .success(try await authentication.authenticate(user: user, password: password, facts))
        } catch {
            _ = rejectionResponder.response(error, of: call)
            return .failure(error)
        }
    }
}
