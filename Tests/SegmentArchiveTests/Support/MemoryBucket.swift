import GatewaySupport
import GatewayTesting
import OutboundHTTP
import Synchronization

@testable import SegmentArchive

/// A bucket in memory behind an HTTP server that verifies the signature and the digest of each request.
final class MemoryBucket: Sendable {
    /// An object, with or without a checksum of the store.
    struct Object: Sendable, Hashable {
        var bytes: [UInt8]
        var hasChecksum = true
    }

    private struct State {
        var objects: [String: Object] = [:]
        /// Whether an object is listed; a store may list an object later than it exists.
        var hidesObjects = false
        /// The responses that precede those of the bucket, in order.
        var failures: [String] = []
        var problems: [String] = []
        /// The method and the path of each request.
        var requests: [String] = []
    }

    private let state = Mutex(State())
    private let server = Mutex<ScriptedServer?>(nil)
    private static let secret = Secret("secret".utf8)

    /// Starts the server.
    static func start() async throws -> MemoryBucket {
        let bucket = MemoryBucket()
        let server = try await ScriptedServer.start { [.write(bucket.response(to: $0))] }
        bucket.server.withLock { $0 = server }
        return bucket
    }

    /// Stops the server.
    func stop() async { await server.withLock(\.self)?.stop() }

    /// The settings of an archive in this bucket.
    func settings(prefix: String = "node", secret: Secret = secret) throws -> ArchiveSettings {
        let port = server.withLock { $0?.port } ?? 0
        return ArchiveSettings(
            ArchiveSettings.Location(
                endpoint: try EndpointURL("http://127.0.0.1:\(port)"), region: "eu-central-1", bucket: "audit",
                prefix: prefix),
            ArchiveSettings.Credentials(accessKeyID: "key", secretAccessKey: secret))
    }

    /// The objects by their keys.
    var objects: [String: Object] {
        get { state.withLock(\.objects) }
        set { state.withLock { $0.objects = newValue } }
    }

    /// The content of the objects by their keys.
    var contents: [String: [UInt8]] { objects.mapValues(\.bytes) }

    /// Faults of requests: a wrong signature or digest, or a write without its condition.
    var problems: [String] { state.withLock(\.problems) }

    /// The method and the path of each request so far.
    var requests: [String] { state.withLock(\.requests) }

    /// The keys of all writes so far.
    var writes: [String] { requests.filter { $0.hasPrefix("PUT ") } }

    /// Adds responses that precede those of the bucket.
    func fail(_ responses: String...) { state.withLock { $0.failures += responses } }

    /// Makes listings empty, as if each object was written after them.
    func hideObjects() { state.withLock { $0.hidesObjects = true } }

    /// Returns a response with the document of an error.
    static func error(_ status: String, _ code: String, _ fields: String = "") -> String {
        ScriptedServer.response(status, fields, body: "<Error><Code>\(code)</Code><Message>m</Message></Error>")
    }

    private func response(to request: ScriptedServer.Request) -> String {
        let method = String(request.line.prefix { $0 != " " })
        let parts = request.target.split(separator: "?", maxSplits: 1)
        let path = String(parts[0])
        let query = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", omittingEmptySubsequences: false)
            return (name: Self.decoded(sides[0]), value: Self.decoded(sides[1]))
        }
        return state.withLock { state in
            state.requests.append("\(method) \(path)")
            if !state.failures.isEmpty { return state.failures.removeFirst() }
            guard isSigned(request, method, path, query) else {
                return Self.error("403 Forbidden", "SignatureDoesNotMatch")
            }
            return Self.response(to: request, method, path, query, &state)
        }
    }

    private static func response(
        to request: ScriptedServer.Request, _ method: String, _ path: String, _ query: [(name: String, value: String)],
        _ state: inout State
    ) -> String {
        if path == "/audit" { return listing(query, state) }
        let key = String(path.dropFirst("/audit/".count))
        switch method {
        case "PUT":
            if request.values("If-None-Match") != ["*"] { state.problems.append("\(key) has no condition") }
            if state.objects[key] != nil { return error("412 Precondition Failed", "PreconditionFailed") }
            state.objects[key] = Object(bytes: request.body)
            return ScriptedServer.response("200 OK")
        default:
            guard let object = state.objects[key] else { return error("404 Not Found", "NoSuchKey") }
            let digest = object.bytes.withUnsafeBytes(SHA256.Digest.init(of:))
            let checksum = String(decoding: Base64.encode(digest?.bytes ?? [], .standard), as: UTF8.self)
            let field = object.hasChecksum ? "x-amz-checksum-sha256: \(checksum)\r\n" : ""
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(object.bytes.count)\r\n\(field)\r\n"
            return method == "HEAD" ? head : head + String(decoding: object.bytes, as: UTF8.self)
        }
    }

    /// Lists two objects in a page, so that an archive has several pages.
    private static func listing(_ query: [(name: String, value: String)], _ state: State) -> String {
        let values = Dictionary(query.map { ($0.name, $0.value) }) { first, _ in first }
        let (prefix, after) = (values["prefix"] ?? "", values["continuation-token"] ?? "")
        let count = min(2, values["max-keys"].flatMap { Int($0) } ?? 2)
        let keys = state.hidesObjects ? [] : state.objects.keys.filter { $0.hasPrefix(prefix) && $0 > after }.sorted()
        let listed = keys.prefix(count)
        let contents = listed.map {
            "<Contents><Key>\($0)</Key><Size>\(state.objects[$0]?.bytes.count ?? 0)</Size></Contents>"
        }
        let next = keys.count > count ? "<NextContinuationToken>\(listed.last ?? "")</NextContinuationToken>" : ""
        return ScriptedServer.ok(
            "<ListBucketResult><IsTruncated>\(keys.count > count)</IsTruncated>\(contents.joined())\(next)"
                + "</ListBucketResult>")
    }

    private func isSigned(
        _ request: ScriptedServer.Request, _ method: String, _ path: String, _ query: [(name: String, value: String)]
    ) -> Bool {
        let authorization = request.values("Authorization").first ?? ""
        let digest = request.values("x-amz-content-sha256").first ?? ""
        guard let names = authorization.firstMatch(of: /SignedHeaders=([^,]*)/)?.1.split(separator: ";"),
            let time = Self.time(request.values("x-amz-date").first ?? ""),
            RequestSigner.hex(SHA256.digest(request.body) ?? []) == digest
        else { return false }
        let added = ["x-amz-content-sha256", "x-amz-date"]
        let signed = RequestSigner.Request(
            method: method, path: path, query: query,
            fields: names.map(String.init).filter { !added.contains($0) }
                .map { (name: $0, value: request.values($0).first ?? "") },
            bodyDigest: digest)
        let signer = RequestSigner(
            accessKeyID: "key", secretAccessKey: Self.secret, sessionToken: nil, region: "eu-central-1")
        return (try? signer.fields(for: signed, at: time))?.last?.value == authorization
    }

    private static func time(_ stamp: String) -> WallTime? {
        guard let parts = stamp.wholeMatch(of: /(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/)?.output else { return nil }
        return WallTime(rfc3339: "\(parts.1)-\(parts.2)-\(parts.3)T\(parts.4):\(parts.5):\(parts.6)Z")
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
