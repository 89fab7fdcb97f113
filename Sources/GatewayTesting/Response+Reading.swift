public import Gateway
public import GatewayCore
public import GatewaySupport

extension Response {
    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }

    /// Returns the values of the header fields with this name, ignoring case.
    public func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The body as JSON, or nil if it is not JSON.
    public var json: JSONValue? { try? JSONParser().parse(body.span) }

    /// The code of the problem document in the body, or nil if it is not one. Its media type, type and status must
    /// agree.
    public var code: RejectionCode? {
        guard contentType == "application/problem+json", let json, json["status"]?.integer == Int64(status),
            let type = json["type"]?.string, type.hasPrefix("urn:notify-gateway:problem:")
        else { return nil }
        return RejectionCode(rawValue: String(type.dropFirst("urn:notify-gateway:problem:".count)))
    }
}

extension Response {
    /// The response without the `RateLimit` fields, which depend on earlier calls.
    public var withoutLimits: Response {
        var response = self
        response.fields.removeAll { $0.name.hasPrefix("RateLimit") }
        return response
    }
}
