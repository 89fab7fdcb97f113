import Foundation

/// One complete answer, free of sockets.
struct BackendAnswer: Sendable, Equatable {
    var status: Int
    var contentType: String?
    /// Methods that the path has, for 405.
    var allow: String?
    var body: String

    init(_ status: Int, contentType: String? = nil, allow: String? = nil, body: String = "") {
        self.status = status
        self.contentType = contentType
        self.allow = allow
        self.body = body
    }

    /// A text answer.
    static func text(_ status: Int, _ body: String) -> BackendAnswer {
        BackendAnswer(status, contentType: "text/plain; charset=utf-8", body: body)
    }

    /// Web API's error object. Remote clients of a classic backend learn no more than this.
    static func message(_ status: Int, _ message: String, detail: String? = nil, allow: String? = nil) -> BackendAnswer
    {
        var body = "{\"Message\":" + quoted(message)
        if let detail { body += ",\"MessageDetail\":" + quoted(detail) }
        return BackendAnswer(status, contentType: "application/json; charset=utf-8", allow: allow, body: body + "}")
    }

    /// ASP.NET Core's problem document; `errors` maps names of parameters to what is wrong with them.
    static func problem(_ status: Int, _ title: String, errors: [String: String] = [:]) -> BackendAnswer {
        let section = status == 415 ? "6.5.13" : "6.5.1"
        var body = "{\"type\":\"https://tools.ietf.org/html/rfc7231#section-\(section)\",\"title\":" + quoted(title)
        body += ",\"status\":\(status)"
        if !errors.isEmpty {
            let members = errors.sorted { $0.key < $1.key }.map { quoted($0.key) + ":[" + quoted($0.value) + "]" }
            body += ",\"errors\":{" + members.joined(separator: ",") + "}"
        }
        return BackendAnswer(status, contentType: "application/problem+json; charset=utf-8", body: body + "}")
    }

    /// A JSON string.
    static func quoted(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        // A single string always encodes; an empty literal would still be JSON.
        guard let data = try? encoder.encode(text) else { return "\"\"" }
        return String(decoding: data, as: UTF8.self)
    }
}
