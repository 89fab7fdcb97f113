/// A complete HTTP request, independent of sockets.
struct BackendRequest: Sendable {
    var method: String
    /// The path and the query as sent.
    var target: String
    var host: String = ""
    /// The first `Authorization` field.
    var authorization: String?
    var contentType: String?
    var accept: String?
    var body: [UInt8] = []
}
