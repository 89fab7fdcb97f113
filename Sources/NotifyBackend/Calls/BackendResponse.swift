import Foundation

/// A complete response, independent of sockets.
struct BackendResponse: Sendable, Equatable {
    var status: Int
    var contentType: String?
    /// The methods of the path, for 405.
    var allow: String?
    var body: String
    /// Further header fields.
    var fields: [String: String] = [:]

    init(_ status: Int, contentType: String? = nil, allow: String? = nil, body: String = "") {
        self.status = status
        self.contentType = contentType
        self.allow = allow
        self.body = body
    }

    /// Returns a response with plain text.
    static func text(_ status: Int, _ body: String) -> BackendResponse {
        BackendResponse(status, contentType: "text/plain; charset=utf-8", body: body)
    }

    /// Returns a response with Web API's error object. Remote clients of a classic backend receive no other details.
    static func message(
        _ status: Int, _ message: String, detail: String? = nil, allow: String? = nil
    ) -> BackendResponse {
        var body = "{\"Message\":" + quoted(message)
        if let detail { body += ",\"MessageDetail\":" + quoted(detail) }
        return BackendResponse(status, contentType: "application/json; charset=utf-8", allow: allow, body: body + "}")
    }

    /// Returns a response with ASP.NET Core's problem document. `errors` maps parameter names to error messages.
    static func problem(_ status: Int, _ title: String, errors: [String: String] = [:]) -> BackendResponse {
        let section = status == 415 ? "6.5.13" : "6.5.1"
        var body = "{\"type\":\"https://tools.ietf.org/html/rfc7231#section-\(section)\",\"title\":" + quoted(title)
        body += ",\"status\":\(status)"
        if !errors.isEmpty {
            let members = errors.sorted { $0.key < $1.key }.map { quoted($0.key) + ":[" + quoted($0.value) + "]" }
            body += ",\"errors\":{" + members.joined(separator: ",") + "}"
        }
        return BackendResponse(status, contentType: "application/problem+json; charset=utf-8", body: body + "}")
    }

    /// Returns the text as a JSON string.
    static func quoted(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        // Encoding a string cannot fail; the fallback is valid JSON.
        guard let data = try? encoder.encode(text) else { return "\"\"" }
        return String(decoding: data, as: UTF8.self)
    }
}
