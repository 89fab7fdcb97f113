/// What a call does, in the words of the journal and of the metrics.
public enum Action: String, Sendable, Hashable, CaseIterable {
    /// `POST /api/notifications`: one user notifies another.
    case send
    /// `POST /api/register`: a device asks for a registration id.
    case registerCreate = "register-create"
    /// `PUT /api/register/{id}`: a device registers its handle and tags.
    case registerUpdate = "register-update"
    /// `DELETE /api/register/{id}`: a device gives its registration up.
    case registerDelete = "register-delete"
    /// A `PUT` by which a device changes its owner.
    case handOver = "hand-over"
    /// `GET /auth/whoami`: the caller asks who it is.
    case whoami
    /// `POST /auth/token`: a password, or a token of the same session, is exchanged for a token.
    case tokenIssue = "token-issue"
    /// `DELETE /auth/token` and `DELETE /auth/sessions/{id}`: a session ends before its time.
    case sessionEnd = "session-end"
    /// `GET /auth/sessions`: the caller asks where it is logged in.
    case sessionList = "session-list"
    /// `GET /auth/registrations`: the caller asks which devices are registered for it.
    case registrationList = "registration-list"
    /// `GET /auth/notifications-received`: the caller asks who notified it.
    case receivedList = "received-list"
    /// Tokens, sessions or a whole user are revoked, by an operator or because an account changed.
    case operatorRevoke = "operator-revoke"
    /// An operator revokes one registration.
    case operatorRevokeRegistration = "operator-revoke-registration"
    /// An operator lifts a throttle.
    case operatorLiftBan = "operator-lift-ban"
    /// An operator resets limits.
    case operatorResetLimits = "operator-reset-limits"
    /// An operator imported registrations from before the gateway.
    case operatorImport = "operator-import"
    /// An operator has the configuration read again.
    case operatorReload = "operator-reload"
    /// An operator copies the ledger.
    case operatorBackup = "operator-backup"
}
