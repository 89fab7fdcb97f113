internal import GatewaySupport

/// The signature of requests to S3: AWS Signature Version 4, in the header field `Authorization`.
///
/// Source: the section "Authenticating Requests: Using the Authorization Header" of the Amazon S3 API reference.
struct RequestSigner: Sendable {
    /// The request as far as the signature covers it.
    struct Request: Sendable {
        /// The method in capital letters.
        var method: String
        /// The path, percent-encoded.
        var path: String
        /// The names and values of the query, not encoded.
        var query: [(name: String, value: String)] = []
        /// The signed header fields, `Host` included.
        var fields: [(name: String, value: String)]
        /// The SHA-256 of the body, in 64 hexadecimal digits.
        var bodyDigest: String

        /// The query with its parts percent-encoded, sorted by name, as the request must have it too.
        var encodedQuery: String {
            query.map { (name: PercentEncoding.encode($0.name), value: PercentEncoding.encode($0.value)) }
                .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
                .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        }
    }

    /// The error that libcrypto cannot compute a digest.
    struct Unavailable: Error {}

    /// The SHA-256 of no bytes.
    static let emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    private static let algorithm = "AWS4-HMAC-SHA256"

    let accessKeyID: String
    let secretAccessKey: Secret
    let sessionToken: Secret?
    let region: String

    /// Returns the header fields of the signed request: its own, and those of the signature.
    func fields(for request: Request, at time: WallTime) throws(Unavailable) -> [(name: String, value: String)] {
        let stamp = Self.stamp(time)
        let day = String(stamp.prefix(8))
        var fields = request.fields
        fields += [("x-amz-content-sha256", request.bodyDigest), ("x-amz-date", stamp)]
        if let sessionToken {
            fields.append(
                ("x-amz-security-token", sessionToken.withBytes { String(decoding: $0.bytes, as: UTF8.self) }))
        }
        let sorted = fields.map { (name: $0.name.lowercased(), value: $0.value) }.sorted { $0.name < $1.name }
        let names = sorted.map(\.name).joined(separator: ";")
        let canonical = [
            request.method, request.path, request.encodedQuery,
            sorted.map { "\($0.name):\(Self.trimmed($0.value))\n" }.joined(), names, request.bodyDigest,
        ].joined(separator: "\n")
        let scope = "\(day)/\(region)/s3/aws4_request"
        guard let digest = SHA256.digest(Array(canonical.utf8)) else { throw Unavailable() }
        let text = [Self.algorithm, stamp, scope, Self.hex(digest)].joined(separator: "\n")
        var key = secretAccessKey.withBytes { Secret(Array("AWS4".utf8) + $0.bytes) }
        for part in [day, region, "s3", "aws4_request"] { key = Secret(try Self.tag(part, under: key)) }
        let signature = Self.hex(try Self.tag(text, under: key))
        fields.append(
            (
                "Authorization",
                "\(Self.algorithm) Credential=\(accessKeyID)/\(scope),SignedHeaders=\(names),Signature=\(signature)"
            ))
        return fields
    }

    /// Formats a time as `20261121T070000Z`.
    static func stamp(_ time: WallTime) -> String {
        time.description.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
    }

    /// Returns the bytes in lower-case hexadecimal digits.
    static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func tag(_ text: String, under key: Secret) throws(Unavailable) -> [UInt8] {
        guard let tag = HMAC(.sha256, key: key)?.tag(over: Array(text.utf8)) else { throw Unavailable() }
        return tag
    }

    private static func trimmed(_ value: String) -> Substring {
        var value = value[...]
        while value.first == " " { value.removeFirst() }
        while value.last == " " { value.removeLast() }
        return value
    }
}

extension Span<UInt8> {
    fileprivate var bytes: [UInt8] { indices.map { self[$0] } }
}

/// Percent-encoding (RFC 3986, section 2.1) as Signature Version 4 demands it.
enum PercentEncoding {
    /// Encodes all bytes but letters, digits and `-._~`, and but those that are excepted.
    static func encode(_ text: String, except others: String = "") -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte) || others.utf8.contains(byte) {
                encoded.append(byte)
            } else {
                encoded += Array("%\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isASCIIAlphanumeric: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}
