extension RawConnection {
    struct Response: Sendable {
        let status: Int
        /// The status line and the fields, with their line ends.
        let head: String
        let body: String
    }

    /// Sends one request with `Content-Length` and reads the response by its length.
    func call(
        _ method: String,
        _ target: String,
        authorization: String? = BackendFixture.basic("alice:alice"),
        headers: [String] = ["Content-Type: application/json"],
        body: String = ""
    ) async throws -> Response {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Content-Length: \(body.utf8.count)"] + headers
        if let authorization { lines.append("Authorization: \(authorization)") }
        try await send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return try await response()
    }

    func response() async throws -> Response {
        let text = try await read { text in
            guard let (head, body) = Self.split(text) else { return false }
            return body.utf8.count >= Self.length(head)
        }
        guard let (head, body) = Self.split(text), let status = Int(head.dropFirst(9).prefix(3)) else {
            throw Failure(what: "no response: \(text)")
        }
        return Response(status: status, head: head, body: body)
    }

    static func split(_ text: String) -> (head: String, body: String)? {
        guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
        return (String(text[..<end.lowerBound]), String(text[end.upperBound...]))
    }

    private static func length(_ head: String) -> Int {
        head.split(separator: "\r\n").lazy
            .compactMap {
                $0.lowercased().hasPrefix("content-length:") ? Int($0.dropFirst(15).filter(\.isNumber)) : nil
            }
            .first ?? 0
    }
}
