/// One complete request, free of sockets.
struct BackendRequest: Sendable {
    var method: String
    /// Path and query as they were sent.
    var target: String
    var host: String = ""
    /// The first `Authorization` field.
    var authorization: String?
    var contentType: String?
    var accept: String?
    var body: [UInt8] = []
}
