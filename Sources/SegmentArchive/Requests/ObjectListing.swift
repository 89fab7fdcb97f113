internal import GatewaySupport

/// One page of a listing: the response of ListObjectsV2.
struct ObjectListing: Sendable, Hashable {
    /// A listed object.
    struct Object: Sendable, Hashable {
        let key: String
        let size: UInt64
    }

    /// The error that a document is not such a response.
    struct Malformed: Error {}

    private(set) var objects: [Object] = []
    /// The token that the request for the next page must have; nil on the last page.
    private(set) var nextToken: String?

    /// Parses the document. The caller bounds its length.
    init(_ document: [UInt8]) throws(Malformed) {
        var tokens = XMLTokenizer(document)
        var path: [String] = []
        var (text, key, size, isTruncated) = ("", String?.none, UInt64?.none, false)
        var token: XMLTokenizer.Token?
        repeat {
            do throws(XMLTokenizer.Malformed) { token = try tokens.next() } catch { throw Malformed() }
            switch token {
            case nil: break
            case .start(let name, _)?:
                path.append(name)
                text = ""
            case .text(let part)?: text += part
            case .end?:
                switch path.dropFirst().joined(separator: "/") {
                case "Contents/Key": key = text
                case "Contents/Size": size = UInt64(text)
                case "Contents":
                    guard let key, let size else { throw Malformed() }
                    objects.append(Object(key: key, size: size))
                case "IsTruncated": isTruncated = text == "true"
                case "NextContinuationToken": nextToken = text
                default: break
                }
                path.removeLast()
            }
        } while token != nil
        guard isTruncated == (nextToken != nil) else { throw Malformed() }
    }
}
