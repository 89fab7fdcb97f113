internal import AsyncHTTPClient
internal import GatewaySupport
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import OutboundHTTP

/// The requests to the bucket. Each has a deadline, and its response a bounded body.
///
/// The client has event loops of its own, keeps one connection and follows no redirect.
final class ObjectStore: Sendable {
    let settings: ArchiveSettings
    private let signer: RequestSigner
    private let address: BucketAddress
    private let authority: AuthorityFile
    private let thread: DeliveryThread
    private let clocks: Clocks
    private let client: HTTPClient

    /// The time for a request without a long body.
    static let timeout = TimeAmount.seconds(60)
    /// The bytes in a second below which a transfer fails.
    static let minimumRate: Int64 = 32 << 10
    /// The maximum number of bytes of a listing, whose pages have at most 1,000 objects with keys of at most 1,024 bytes.
    private static let maximumListingBytes = 8 << 20
    /// The maximum number of bytes of the document of an error.
    private static let maximumErrorBytes = 64 << 10
    /// The maximum number of bytes of an object that is read: a segment has 64 MiB and a batch.
    static let maximumObjectBytes: UInt64 = 256 << 20

    /// Creates the client. Opens no connection.
    ///
    /// - Parameter thread: The thread that reads files.
    init(_ settings: ArchiveSettings, thread: DeliveryThread, clocks: Clocks) {
        self.settings = settings
        self.thread = thread
        self.clocks = clocks
        signer = RequestSigner(
            accessKeyID: settings.accessKeyID, secretAccessKey: settings.secretAccessKey,
            sessionToken: settings.sessionToken, region: settings.region)
        address = BucketAddress(settings)
        authority = AuthorityFile(settings.authority)
        client = .outbound(
            to: address.origin, timeout: .init(connect: .seconds(10), read: Self.timeout, write: Self.timeout),
            idleTime: .seconds(5), connections: 1)
    }

    /// Closes the connections.
    func close() async { try? await client.shutdown() }

    /// The properties of an object.
    struct Properties: Sendable, Hashable {
        let size: UInt64
        /// The checksum that the store computed; nil if it has none of the whole object.
        let digest: SHA256.Digest?
    }

    /// The result of a conditional write.
    enum Written: Sendable, Hashable {
        case created
        /// An object with this key exists already. It is unchanged.
        case exists
    }

    /// Returns one page of the objects whose keys begin with the text, in the order of the keys.
    func list(
        _ beginning: String, after token: String? = nil, atMost count: Int = 1000
    ) async throws(DeliveryFailure)
        -> ObjectListing
    {
        var query = [("list-type", "2"), ("max-keys", "\(count)"), ("prefix", beginning)]
        if let token { query.append(("continuation-token", token)) }
        let response = try await send("GET", key: nil, query: query)
        let body = try await body(of: response, atMost: Self.maximumListingBytes)
        guard response.status == .ok else { throw failure(response, body) }
        do throws(ObjectListing.Malformed) { return try ObjectListing(body) } catch {
            throw DeliveryFailure("the response is not a listing of S3; correct journal.archive.s3.endpoint")
        }
    }

    /// Returns the properties of an object; nil if it does not exist.
    func properties(of key: String) async throws(DeliveryFailure) -> Properties? {
        let response = try await send("HEAD", key: key, fields: [("x-amz-checksum-mode", "ENABLED")])
        _ = try await body(of: response, atMost: 0)
        if response.status == .notFound { return nil }
        guard response.status == .ok, let size = response.headers.first(name: "Content-Length").flatMap({ UInt64($0) })
        else { throw failure(response, []) }
        let checksum = response.headers.first(name: "x-amz-checksum-sha256")
            .flatMap { Base64.decode(Array($0.utf8).span, .standard) }
        return Properties(size: size, digest: checksum.flatMap(SHA256.Digest.init))
    }

    /// Writes an object unless the key exists.
    func create(_ key: String, from file: SegmentFile) async throws(DeliveryFailure) -> Written {
        let digest = file.digest
        let checksum = String(decoding: Base64.encode(digest.bytes, .standard), as: UTF8.self)
        let response = try await send(
            "PUT", key: key,
            fields: [
                ("content-type", "application/x-ndjson"), ("if-none-match", "*"), ("x-amz-checksum-sha256", checksum),
                ("x-amz-sdk-checksum-algorithm", "SHA256"),
            ], body: file)
        let body = try await body(of: response, atMost: Self.maximumErrorBytes)
        if response.status == .preconditionFailed { return .exists }
        guard (200..<300).contains(Int(response.status.code)) else { throw failure(response, body) }
        return .created
    }

    /// Returns the bytes of an object; nil if it does not exist.
    ///
    /// - Parameter size: The listed size, for which memory is reserved.
    func bytes(of key: String, expecting size: UInt64) async throws(DeliveryFailure) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(min(size, Self.maximumObjectBytes)))
        let isPresent = try await read(key) { part in
            bytes += part.readableBytesView
            return UInt64(bytes.count) <= Self.maximumObjectBytes
        }
        return isPresent ? bytes : nil
    }

    /// Returns the digest of an object that the store computed no checksum of; nil if it does not exist.
    func digest(of key: String) async throws(DeliveryFailure) -> SHA256.Digest? {
        guard let digest = SHA256.Accumulator() else { throw DeliveryFailure("libcrypto cannot compute a digest") }
        var count: UInt64 = 0
        let isPresent = try await read(key) { part in
            count += UInt64(part.readableBytes)
            return part.withUnsafeReadableBytes(digest.add) && count <= Self.maximumObjectBytes
        }
        return isPresent ? digest.finish() : nil
    }

    /// Reads an object in parts. Returns whether it exists. The closure returns whether it accepts more.
    private func read(_ key: String, _ add: (ByteBuffer) -> Bool) async throws(DeliveryFailure) -> Bool {
        let response = try await send("GET", key: key, seconds: Int64(Self.maximumObjectBytes) / Self.minimumRate)
        guard response.status == .ok else {
            let failure = failure(response, try await body(of: response, atMost: Self.maximumErrorBytes))
            if response.status == .notFound { return false }
            throw failure
        }
        do {
            for try await part in response.body {
                guard add(part) else {
                    throw DeliveryFailure("\(key) is longer than a segment can be")
                }
            }
        } catch let error as DeliveryFailure {
            throw error
        } catch {
            throw DeliveryFailure(NetworkFailure.reason(of: error))
        }
        return true
    }

    /// Sends a signed request, and returns the head of its response.
    private func send(
        _ method: String, key: String?, query: [(String, String)] = [], fields: [(String, String)] = [],
        body: SegmentFile? = nil, seconds: Int64 = 0
    ) async throws(DeliveryFailure) -> HTTPClientResponse {
        let signed = RequestSigner.Request(
            method: method, path: address.path(of: key), query: query.map { (name: $0.0, value: $0.1) },
            fields: [("Host", address.host)] + fields,
            bodyDigest: body.map { String(decoding: $0.digest.hexDigits, as: UTF8.self) } ?? RequestSigner.emptyDigest)
        let query = signed.encodedQuery
        var request = HTTPClientRequest(url: address.origin + signed.path + (query.isEmpty ? "" : "?\(query)"))
        request.method = HTTPMethod(rawValue: method)
        do throws(RequestSigner.Unavailable) {
            for field in try signer.fields(for: signed, at: clocks.wall()) {
                request.headers.add(name: field.name, value: field.value)
            }
        } catch {
            throw DeliveryFailure("libcrypto cannot compute the signature")
        }
        request.headers.add(name: "User-Agent", value: "notify-gateway")
        request.tlsConfiguration = try await thread.run { [authority] () throws(DeliveryFailure) in
            try authority.clientConfiguration()
        }
        var limit = Self.timeout + .seconds(seconds)
        if let body {
            request.body = .stream(
                SegmentFile.Chunks(file: body, thread: thread), length: .known(Int64(body.size)))
            limit = limit + .seconds(Int64(body.size) / Self.minimumRate)
        }
        do {
            return try await client.execute(request, deadline: .now() + limit)
        } catch let error as DeliveryFailure {
            throw error
        } catch is CancellationError {
            throw .stopped
        } catch {
            throw DeliveryFailure(NetworkFailure.reason(of: error))
        }
    }

    private func body(of response: HTTPClientResponse, atMost limit: Int) async throws(DeliveryFailure) -> [UInt8] {
        do {
            return Array((try await response.body.collect(upTo: limit)).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw DeliveryFailure("the response of the store is longer than \(limit) bytes")
        } catch {
            throw DeliveryFailure(NetworkFailure.reason(of: error))
        }
    }

    private func failure(_ response: HTTPClientResponse, _ body: [UInt8]) -> DeliveryFailure {
        let wait = response.headers.first(name: "Retry-After").flatMap { RetryAfter.wait($0, now: clocks.wall()) }
        return StoreError.failure(status: Int(response.status.code), body: body, for: settings, retryAfter: wait)
    }
}
