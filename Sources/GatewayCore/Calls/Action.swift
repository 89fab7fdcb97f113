/// The operation that a call performs. The raw value is the word used in the journal and as a metric label.
public enum Action: String, Sendable, Hashable, CaseIterable {
    /// `POST /api/notifications`: one user notifies another.
    case send
    /// `DELETE /auth/scheduled/{id}`: a sender cancels a scheduled send.
    case sendCancel = "send-cancel"
    /// `POST /api/register`: a device requests a registration id.
    case registerCreate = "register-create"
    /// `PUT /api/register/{id}`: a device registers its handle and tags.
    case registerUpdate = "register-update"
    /// `DELETE /api/register/{id}`: a device deletes its registration.
    case registerDelete = "register-delete"
    /// `PUT /api/register/{id}` where the device's handle moves from another user to the caller.
    case ownershipTransfer = "hand-over"
    /// `GET /auth/whoami`: returns the caller's identity.
    case whoami
    /// `POST /auth/token`: exchanges a password, or a token of the same session, for a new token.
    case tokenIssue = "token-issue"
    /// `DELETE /auth/token` and `DELETE /auth/sessions/{id}`: close a session before it expires.
    case sessionEnd = "session-end"
    /// `GET /auth/sessions`: lists the caller's sessions.
    case sessionList = "session-list"
    /// `GET /auth/registrations`: lists the caller's registrations.
    case registrationList = "registration-list"
    /// `GET /api/notifications/{id}`: a recipient reads the text of a secure notification.
    case notificationFetch = "notification-fetch"
    /// `GET /api/notifications`: lists the caller's secure notifications that were not fetched yet.
    case notificationList = "notification-list"
    /// `GET /auth/notifications-received`: lists the notifications that others sent to the caller.
    case receivedList = "received-list"
    /// `POST /auth/backchannel-logout`: an identity provider ends sessions.
    case providerLogout = "provider-logout"
    /// Tokens, sessions or a whole user are revoked, by an operator or because an account changed.
    case operatorRevoke = "operator-revoke"
    /// An operator revokes one registration.
    case operatorRevokeRegistration = "operator-revoke-registration"
    /// An operator lifts a login ban.
    case operatorLiftBan = "operator-lift-ban"
    /// An operator resets limits.
    case operatorResetLimits = "operator-reset-limits"
    /// An operator imports registrations that were made before the gateway was installed.
    case operatorImport = "operator-import"
    /// An operator repairs differences between the hub and the ledger.
    case operatorReconcile = "operator-reconcile"
    /// An operator applies the account lists of one gateway although others differ.
    case operatorApplyAccounts = "operator-apply-accounts"
    /// An operator reloads the configuration.
    case operatorReload = "operator-reload"
    /// An operator logs in to the console.
    case operatorLogin = "operator-login"
    /// An operator logs out of the console.
    case operatorLogout = "operator-logout"
    /// An operator backs up the ledger.
    case operatorBackup = "operator-backup"
}

/// The request methods that routes use (RFC 9110, section 9). A request with any other method matches no route.
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    /// `GET`
    case get = "GET"
    /// `POST`
    case post = "POST"
    /// `PUT`
    case put = "PUT"
    /// `DELETE`
    case delete = "DELETE"
}
