import Foundation

/// A complete request, independent of sockets.
struct BackendRequest: Sendable {
    var method: String
    /// The path and query as sent.
    var target: String
    var host: String = ""
    /// The first `Authorization` field.
    var authorization: String?
    var contentType: String?
    var accept: String?
    var body: [UInt8] = []
    /// All header fields by their names in lower case, the first of each name.
    var fields: [String: String] = [:]
}

/// The route of a request: `api/<controller>[/<id>]`, matched without case.
struct BackendRoute: Equatable {
    /// The controller that the path names.
    enum Controller: Equatable {
        case register
        case notifications
        case unknown(String)
    }

    let controller: Controller
    /// The id in the path, percent-decoded.
    let id: String?

    /// Parses a path and resolves its dot segments, as the web server does. Returns nil if the path is not below `api/`
    /// or has too many segments.
    init?(path: some StringProtocol) {
        var segments: [String] = []
        for segment in path.split(separator: "/").map({ FormFields.decoded($0, plusIsSpace: false) }) {
            switch segment {
            case ".": continue
            case "..": _ = segments.popLast()
            default: segments.append(segment)
            }
        }
        guard path.first == "/", (2...3).contains(segments.count), segments[0].lowercased() == "api" else { return nil }
        switch segments[1].lowercased() {
        case "register": controller = .register
        case "notifications": controller = .notifications
        default: controller = .unknown(segments[1])
        }
        id = segments.count == 3 ? segments[2] : nil
    }
}

/// The content negotiation of Web API between JSON and XML.
struct AcceptHeader {
    /// Whether the client prefers XML to JSON. Without a preference it is JSON.
    let prefersXML: Bool

    /// Parses an `Accept` value: media ranges with `q` (RFC 9110, section 12.5.1). A range that names a type takes
    /// precedence over a wildcard of the same quality.
    init(_ value: String) {
        var json = (quality: 0.0, isNamed: false)
        var xml = (quality: 0.0, isNamed: false)
        for range in value.split(separator: ",") {
            let parts = range.split(separator: ";").map { MediaType.trimmed($0).lowercased() }
            let quality =
                parts.dropFirst().lazy
                .compactMap { $0.hasPrefix("q=") ? Double($0.dropFirst(2)) : nil }.first ?? 1
            switch parts.first {
            case "application/json", "text/json": json = max(json, (quality, true), by: Self.isLess)
            case "application/xml", "text/xml": xml = max(xml, (quality, true), by: Self.isLess)
            case "*/*", "application/*", "text/*":
                json = max(json, (quality, false), by: Self.isLess)
                xml = max(xml, (quality, false), by: Self.isLess)
            default: continue
            }
        }
        prefersXML = Self.isLess(json, xml)
    }

    private static func isLess(
        _ one: (quality: Double, isNamed: Bool),
        _ other: (quality: Double, isNamed: Bool)
    ) -> Bool {
        (one.quality, one.isNamed ? 1 : 0) < (other.quality, other.isNamed ? 1 : 0)
    }
}

private func max<T>(_ one: T, _ other: T, by isLess: (T, T) -> Bool) -> T {
    isLess(one, other) ? other : one
}

/// A user and password as the tutorial's handler reads them from `Authorization`.
///
/// The handler splits at every colon and uses the first two parts, so `alice:alice:x` is accepted as alice.
struct BasicCredential: Equatable {
    /// The reason why a header value holds no credential.
    enum Fault: Error, Equatable {
        case absent
        case otherScheme
        /// The credential is not base64, or contains no colon.
        case malformed
    }

    let user: String
    let password: String

    /// Whether the password equals the user name, which is the tutorial's check. Compares bytes.
    var isValid: Bool { user.utf8.elementsEqual(password.utf8) }

    /// Parses a header value. `classic` decodes Windows-1252, the other flavours UTF-8.
    init(authorization: String?, flavor: BackendFlavor) throws(Fault) {
        guard let authorization else { throw .absent }
        guard authorization.prefix(6).lowercased() == "basic " else { throw .otherScheme }
        let encoded = MediaType.trimmed(authorization.dropFirst(6))
        guard let data = Data(base64Encoded: encoded) else { throw .malformed }
        let text =
            switch flavor {
            case .classic:
                String(data: data, encoding: .windowsCP1252) ?? String(String.UnicodeScalarView(data.map { .init($0) }))
            case .core, .net6: String(decoding: data, as: UTF8.self)
            }
        // Splits bytes instead of characters, because a colon with a combining mark would be another character.
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count >= 2 else { throw .malformed }
        user = String(Substring(parts[0]))
        password = String(Substring(parts[1]))
    }
}
