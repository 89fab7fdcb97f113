public import GatewaySupport
public import OutboundHTTP

/// The settings of the archive: a bucket of an S3-compatible store, and the credentials for it.
public struct ArchiveSettings: Sendable, Equatable {
    /// The URL of the store, without a path.
    public let endpoint: EndpointURL
    /// The region, which is part of the signatures.
    public let region: String
    /// The name of the bucket.
    public let bucket: String
    /// The beginning of all keys, without a slash at its ends; empty for none.
    public let prefix: String
    /// The public part of the credentials.
    public let accessKeyID: String
    /// The secret part of the credentials.
    public let secretAccessKey: Secret
    /// The token of temporary credentials; nil for permanent ones.
    public let sessionToken: Secret?
    /// The file of the trusted authorities of a connection with TLS; nil for those of the system.
    public let authority: String?
    /// Whether the bucket is the first part of the path, and not a part of the host's name.
    public let usesPathStyle: Bool

    /// Creates settings from their parts.
    ///
    /// - Parameters:
    ///   - location: The bucket in its store.
    ///   - credentials: The credentials for it.
    public init(_ location: Location, _ credentials: Credentials, authority: String? = nil) {
        endpoint = location.endpoint
        region = location.region
        bucket = location.bucket
        prefix = location.prefix
        usesPathStyle = location.usesPathStyle
        accessKeyID = credentials.accessKeyID
        secretAccessKey = credentials.secretAccessKey
        sessionToken = credentials.sessionToken
        self.authority = authority
    }

    /// A bucket in its store.
    public struct Location: Sendable {
        let endpoint: EndpointURL
        let region: String
        let bucket: String
        let prefix: String
        let usesPathStyle: Bool

        /// Creates a location from its parts.
        public init(endpoint: EndpointURL, region: String, bucket: String, prefix: String, usesPathStyle: Bool = true) {
            self.endpoint = endpoint
            self.region = region
            self.bucket = bucket
            self.prefix = prefix
            self.usesPathStyle = usesPathStyle
        }
    }

    /// Credentials of a store.
    public struct Credentials: Sendable {
        let accessKeyID: String
        let secretAccessKey: Secret
        let sessionToken: Secret?

        /// Creates credentials from their parts.
        public init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil) {
            self.accessKeyID = accessKeyID
            self.secretAccessKey = secretAccessKey
            self.sessionToken = sessionToken
        }
    }

    /// The place of the objects, to which a cursor belongs.
    package var place: String { "\(endpoint.text) \(bucket) \(prefix)" }

    /// Returns the key of an object with this name.
    package func key(_ name: String) -> String { prefix.isEmpty ? name : "\(prefix)/\(name)" }

    /// Returns whether a text is usable as the name of a bucket: 3 to 63 of `a–z 0–9 - .`, the first and the last one a
    /// letter or digit.
    public static func isBucket(_ text: String) -> Bool {
        (3...63).contains(text.utf8.count) && text.utf8.allSatisfy { isLowerCase($0) || $0 == 0x2D || $0 == 0x2E }
            && [text.utf8.first, text.utf8.last].allSatisfy { $0.map(isLowerCase) ?? false } && !text.contains("..")
    }

    /// Returns whether a text is usable as a prefix: 1 to 512 of `A–Z a–z 0–9 - _ . /`, without a slash at its ends,
    /// and without an empty part, `.` or `..`, which some stores and clients resolve.
    public static func isPrefix(_ text: String) -> Bool {
        (1...512).contains(text.utf8.count)
            && text.utf8.allSatisfy { isLowerCase($0) || (0x41...0x5A).contains($0) || "-_./".utf8.contains($0) }
            && text.split(separator: "/", omittingEmptySubsequences: false)
                .allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }

    /// Returns whether a text is usable as a region: 1 to 64 of `a–z 0–9 -`.
    public static func isRegion(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { isLowerCase($0) || $0 == 0x2D }
    }

    /// Returns whether a text is usable as the id of an access key, or as a secret: visible ASCII characters. An id has
    /// no slash, comma or equals sign, which separate it from other parts of a request.
    public static func isCredential(_ text: String, isID: Bool = false) -> Bool {
        (1...4096).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && !(isID && text.contains { "/,=".contains($0) })
    }

    private static func isLowerCase(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
    }

    /// Returns whether all settings are equal, the secrets included.
    public static func == (left: ArchiveSettings, right: ArchiveSettings) -> Bool {
        func equal(_ left: Secret?, _ right: Secret?) -> Bool {
            switch (left, right) {
            case (nil, nil): true
            case (let left?, let right?): left.isEqual(to: right)
            case (nil, .some), (.some, nil): false
            }
        }
        return left.place == right.place && left.region == right.region && left.accessKeyID == right.accessKeyID
            && left.secretAccessKey.isEqual(to: right.secretAccessKey) && equal(left.sessionToken, right.sessionToken)
            && left.authority == right.authority && left.usesPathStyle == right.usesPathStyle
    }
}
