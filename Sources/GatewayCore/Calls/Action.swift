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
}
