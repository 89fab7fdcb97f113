internal import GatewayCore
internal import GatewaySupport
internal import OutboundHTTP
internal import SegmentArchive

extension ServerConfiguration {
    /// Reads `archive` of the journal, which has one member: `s3`.
    static func readArchive(_ reader: ConfigurationReader) -> ArchiveSettings? {
        defer { reader.finish() }
        guard let section = reader.mapping("s3") else {
            reader.report("\"s3\" is missing")
            return nil
        }
        defer { section.finish() }
        let location = readLocation(section)
        // The id of the access key.
        let accessKeyID = section.required("access-key-id")
        if let accessKeyID, !ArchiveSettings.isCredential(accessKeyID, isID: true) {
            section.report("access-key-id", "is not the id of an access key")
        }
        // Secret. The secret part of the access key.
        let secretAccessKey = readSecret(section, "secret-access-key")
        // Secret. The token of temporary credentials; default: none.
        let sessionToken = section.has("session-token") ? readSecret(section, "session-token") : nil
        if !section.has("session-token") { _ = section.node("session-token") }
        let authority = readAuthority(section)
        guard let location, let accessKeyID, let secretAccessKey else { return nil }
        return ArchiveSettings(
            location,
            ArchiveSettings.Credentials(
                accessKeyID: accessKeyID, secretAccessKey: secretAccessKey, sessionToken: sessionToken),
            authority: authority)
    }

    private static func readLocation(_ section: ConfigurationReader) -> ArchiveSettings.Location? {
        // The URL of the store: https, or http to a loopback address; without a path.
        let endpoint = readEndpoint(section)
        // The region of the bucket, as the signatures contain it.
        let region = section.required("region")
        if let region, !ArchiveSettings.isRegion(region) {
            section.report(
                "region", "\"\(region)\" is not a region; use 1 to 64 lower-case letters, digits and hyphens")
        }
        // The name of the bucket.
        let bucket = section.required("bucket")
        if let bucket, !ArchiveSettings.isBucket(bucket) {
            section.report(
                "bucket",
                "\"\(bucket)\" is not the name of a bucket; use 3 to 63 lower-case letters, digits, hyphens and dots")
        }
        // The beginning of all keys, of this gateway alone.
        let prefix = section.required("prefix")
        if let prefix, !ArchiveSettings.isPrefix(prefix) {
            section.report(
                "prefix",
                "\"\(prefix)\" is not a prefix; use 1 to 512 letters, digits and -_./ without a slash at the ends")
        }
        // Whether the bucket is in the path, and not in the host's name; default: true.
        let usesPathStyle = section.bool("path-style") ?? true
        if let bucket, let endpoint, !usesPathStyle {
            if bucket.contains(".") {
                section.report("path-style", "must be true: no certificate is valid for the dots in the bucket's name")
            } else if (try? RemoteURL(endpoint.text))?.isLoopback == true {
                section.report("path-style", "must be true for a loopback address")
            }
        }
        guard let endpoint, let region, let bucket, let prefix else { return nil }
        return ArchiveSettings.Location(
            endpoint: endpoint, region: region, bucket: bucket, prefix: prefix, usesPathStyle: usesPathStyle)
    }

    private static func readEndpoint(_ section: ConfigurationReader) -> EndpointURL? {
        guard let text = section.required("endpoint") else { return nil }
        do throws(EndpointURL.Malformed) {
            let url = try EndpointURL(text)
            // The part after the scheme and its slashes may end with one slash, and has no other path and no query.
            let rest = text.drop { $0 != "/" }.dropFirst(2)
            guard !(rest.hasSuffix("/") ? rest.dropLast() : rest).contains(where: { "/?".contains($0) }) else {
                section.report("endpoint", "must have no path and no query; the bucket has a key of its own")
                return nil
            }
            return url
        } catch {
            section.report("endpoint", error.reason)
            return nil
        }
    }

    private static func readSecret(_ section: ConfigurationReader, _ name: String) -> Secret? {
        guard let text = section.required(name) else { return nil }
        if !ArchiveSettings.isCredential(text) {
            section.report(name, "must be visible ASCII characters without spaces")
        }
        return Secret(text.utf8)
    }
}
