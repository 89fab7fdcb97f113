import GatewaySupport
import OutboundHTTP
import Testing

@testable import SegmentArchive

@Suite("Signature of requests to S3")
struct RequestSignerTests {
    /// The credentials, the bucket and the time of the examples in the Amazon S3 API reference.
    private static let signer = RequestSigner(
        accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".utf8),
        sessionToken: nil, region: "us-east-1")
    private static let time = WallTime(rfc3339: "2013-05-24T00:00:00Z") ?? WallTime(seconds: 0)

    private func signature(
        _ method: String, _ path: String, _ query: [(name: String, value: String)] = [],
        fields: [(name: String, value: String)] = [], digest: String = RequestSigner.emptyDigest
    ) throws -> String? {
        let request = RequestSigner.Request(
            method: method, path: path, query: query, fields: [("Host", "examplebucket.s3.amazonaws.com")] + fields,
            bodyDigest: digest)
        let value = try Self.signer.fields(for: request, at: Self.time).last?.value
        return value?.split(separator: "Signature=").last.map(String.init)
    }

    @Test("The published examples have the published signatures")
    func published() throws {
        #expect(
            try signature("GET", "/test.txt", fields: [("Range", "bytes=0-9")])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
        #expect(
            try signature(
                "PUT", "/\(PercentEncoding.encode("test$file.text", except: "/"))",
                fields: [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                digest: RequestSigner.hex(SHA256.digest(Array("Welcome to Amazon S3.".utf8)) ?? []))
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
        #expect(
            try signature("GET", "/", [("lifecycle", "")])
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        #expect(
            try signature("GET", "/", [("max-keys", "2"), ("prefix", "J")])
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test("The field names the scope and the signed fields, and a session token is signed")
    func field() throws {
        let signer = RequestSigner(
            accessKeyID: "id", secretAccessKey: Secret("s".utf8), sessionToken: Secret("t/+=".utf8), region: "eu-1")
        let request = RequestSigner.Request(
            method: "GET", path: "/b", fields: [("Host", "h"), ("B", " 1 ")], bodyDigest: RequestSigner.emptyDigest)
        let fields = try signer.fields(for: request, at: Self.time)
        #expect(
            fields.map(\.name).dropLast() == [
                "Host", "B", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token",
            ])
        #expect(fields.contains { $0 == ("x-amz-security-token", "t/+=") })
        let value = try #require(fields.last?.value)
        #expect(
            value.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=id/20130524/eu-1/s3/aws4_request,"
                    + "SignedHeaders=b;host;x-amz-content-sha256;x-amz-date;x-amz-security-token,Signature="))
    }

    @Test("The query is encoded and sorted by name")
    func query() {
        let request = RequestSigner.Request(
            method: "GET", path: "/", query: [("prefix", "a/b c~"), ("continuation-token", "x+/=é")], fields: [],
            bodyDigest: "")
        #expect(request.encodedQuery == "continuation-token=x%2B%2F%3D%C3%A9&prefix=a%2Fb%20c~")
    }
}

@Suite("Documents and names of an archive")
struct ArchiveValueTests {
    @Test("A listing has objects and the token of the next page")
    func listing() throws {
        let page = try ObjectListing(
            Array(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>a&amp;</Prefix>
                <IsTruncated>true</IsTruncated><NextContinuationToken>1/+=</NextContinuationToken>
                <Contents><Key>a&amp;b</Key><Size>12</Size><Owner><ID>x</ID></Owner></Contents>
                <CommonPrefixes><Prefix>c/</Prefix></CommonPrefixes></ListBucketResult>
                """.utf8))
        #expect(page.objects == [ObjectListing.Object(key: "a&b", size: 12)])
        #expect(page.nextToken == "1/+=")
    }

    @Test(
        "A document that is not a listing is rejected",
        arguments: [
            "", "<html>", "<a><Contents><Key>k</Key></Contents></a>", "<a><Contents><Size>1</Size></Contents></a>",
            "<a><Contents><Key>k</Key><Size>-1</Size></Contents></a>", "<a><IsTruncated>true</IsTruncated></a>",
            "<!DOCTYPE a><a/>",
        ])
    func malformed(document: String) {
        #expect(throws: ObjectListing.Malformed.self) { try ObjectListing(Array(document.utf8)) }
    }

    @Test("Names are those of segments and of conflicts, and no others")
    func names() throws {
        let segment = try #require(ArchivedName("journal-00000000000000000042.jsonl"))
        #expect(segment.text == "journal-00000000000000000042.jsonl")
        let conflict = try #require(ArchivedName("journal-00000000000000000042.conflict-0123456789abcdef.jsonl"))
        #expect(conflict.text == "journal-00000000000000000042.conflict-0123456789abcdef.jsonl")
        for other in [
            "", "journal-.jsonl", "journal-42.jsonl", "journal-+0000000000000000042.jsonl",
            "journal-00000000000000000042.conflict-.jsonl",
            "journal-00000000000000000042.conflict-0123456789ABCDEF.jsonl",
            "journal-00000000000000000042.conflict-0123456789abcdef", "journal-00000000000000000042.jsonl.bak",
            "x/journal-00000000000000000042.jsonl",
        ] { #expect(ArchivedName(other) == nil, "\(other)") }
    }

    @Test("The address of the bucket has the bucket in its path or in its host")
    func addresses() throws {
        func address(_ endpoint: String, path: Bool) throws -> BucketAddress {
            let location = ArchiveSettings.Location(
                endpoint: try .init(endpoint), region: "r", bucket: "buck", prefix: "p", usesPathStyle: path)
            return BucketAddress(
                ArchiveSettings(location, .init(accessKeyID: "a", secretAccessKey: Secret("b".utf8))))
        }
        let path = try address("https://s3.example.org:443/", path: true)
        #expect((path.origin, path.host) == ("https://s3.example.org", "s3.example.org"))
        #expect((path.path(of: "p/k"), path.path(of: nil)) == ("/buck/p/k", "/buck"))
        let host = try address("https://s3.example.org:9000", path: false)
        #expect((host.origin, host.host) == ("https://buck.s3.example.org:9000", "buck.s3.example.org:9000"))
        #expect((host.path(of: "p/k"), host.path(of: nil)) == ("/p/k", "/"))
        #expect(try address("http://[::1]:80", path: true).host == "[::1]")
    }

    @Test(
        "An error says what to do",
        arguments: [
            (403, "<Error><Code>RequestTimeTooSkewed</Code></Error>", "the clock of this machine"),
            (403, "<Error><Code>SignatureDoesNotMatch</Code></Error>", "correct journal.archive.s3.secret-access-key"),
            (403, "<Error><Code>AccessDenied</Code></Error>", "grant the permissions"),
            (404, "<Error><Code>NoSuchBucket</Code></Error>", "the bucket buck does not exist; create it"),
            (400, "<Error><Code>ExpiredToken</Code></Error>", "renew journal.archive.s3.session-token"),
            (301, "<Error><Code>PermanentRedirect</Code></Error>", "in another region"),
            (307, "", "not followed"), (403, "", "the credentials may not do this"),
            (500, "<Error><Code>Other</Code></Error>", "the store responded with status 500, Other"),
            (502, "<html>&bad;", "the store responded with status 502"),
            (500, "<Error><Code>a\u{1B}[31m</Code></Error>", "the store responded with status 500"),
        ])
    func errors(status: Int, body: String, reason: String) throws {
        let settings = ArchiveSettings(
            .init(endpoint: try .init("https://s3.example.org"), region: "r", bucket: "buck", prefix: "p"),
            .init(accessKeyID: "a", secretAccessKey: Secret("b".utf8)))
        let failure = StoreError.failure(status: status, body: Array(body.utf8), for: settings)
        #expect(failure.reason.contains(reason), "\(failure.reason)")
        #expect(!failure.reason.contains("\u{1B}"))
    }
}
