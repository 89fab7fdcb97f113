internal import OutboundHTTP

/// The address of the bucket, in one of the two styles of S3.
struct BucketAddress: Sendable, Hashable {
    /// The scheme and the host, without a slash at the end.
    let origin: String
    /// The value of the field `Host`.
    let host: String
    private let pathBeginning: String

    init(_ settings: ArchiveSettings) {
        let parts = settings.endpoint.text.split(separator: "/", omittingEmptySubsequences: true)
        // A checked URL has a scheme with its colon, and a host.
        let (scheme, authority) = (parts[0].lowercased(), String(parts.count > 1 ? parts[1] : ""))
        let defaultPort = scheme == "https:" ? ":443" : ":80"
        let plain = authority.hasSuffix(defaultPort) ? String(authority.dropLast(defaultPort.count)) : authority
        host = settings.usesPathStyle ? plain : "\(settings.bucket).\(plain)"
        origin = "\(scheme)//\(host)"
        pathBeginning = settings.usesPathStyle ? "/\(settings.bucket)" : ""
    }

    /// Returns the percent-encoded path of an object, or of the bucket itself.
    func path(of key: String?) -> String {
        guard let key else { return pathBeginning.isEmpty ? "/" : pathBeginning }
        return "\(pathBeginning)/\(PercentEncoding.encode(key, except: "/"))"
    }
}
