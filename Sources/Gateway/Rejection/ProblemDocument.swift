internal import GatewayCore
internal import GatewaySupport

/// The response to a rejected call: a problem document (RFC 9457) without internal details and without any byte of the
/// request.
enum ProblemDocument {
    static func response(_ rejection: Rejection, challenges: [Response.Field] = []) -> Response {
        let status = rejection.code.status
        var members: [JSONValue.Member] = [
            .init("type", .string("urn:notify-gateway:problem:\(rejection.code.rawValue)")),
            .init("title", .string(rejection.code.title)),
            .init("status", .number(String(status))),
        ]
        if let hint = rejection.hint { members.append(.init("detail", .string(hint))) }
        var fields = [Response.Field.noStore]
        if status == 401 { fields += challenges }
        switch rejection.extra {
        case .allow(let methods):
            fields.append(.init("Allow", methods.map(\.rawValue).joined(separator: ", ")))
        case .retryAfter(let seconds):
            fields.append(.init("Retry-After", String(max(1, seconds))))
        case .limit(let name, let seconds):
            members.append(.init("limit", .string(name)))
            fields.append(.init("Retry-After", String(max(1, seconds))))
        case .audience(let counts):
            members += counts
        case nil:
            break
        }
        var response = Response(
            status: status, contentType: "application/problem+json", fields: fields,
            body: JSONWriter.bytes(of: .object(members)))
        response.rejection = rejection.code
        return response
    }

    /// Returns a `WWW-Authenticate` field for each accepted scheme (RFC 9110, section 11.6.1).
    static func challenges(for kinds: [CredentialKind]) -> [Response.Field] {
        kinds.map { kind in
            switch kind {
            case .password: .init("WWW-Authenticate", "Basic realm=\"notify\", charset=\"UTF-8\"")
            case .bearer: .init("WWW-Authenticate", "Bearer")
            }
        }
    }
}
