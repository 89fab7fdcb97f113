import GatewayCore
import GatewaySupport
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of valid requests and of the values that the framer stores.
@Suite struct FramingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var bytes: String
        var framed: [String]

        var testDescription: String { bytes.debugDescription }
    }

    static let accepted: [Case] = [
        Case(
            bytes: "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "HEAD /x?y?z HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: ["request HEAD|/x|y?z|absent|absent|absent|keep|"]),
        Case(
            bytes: "get /? HTTP/1.1\r\nhOST:a:1\t \r\n\r\n",
            framed: ["request other|/||absent|absent|absent|keep|"]),
        Case(
            bytes: "PATCH / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
            framed: ["request other|/|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET HTTP://A/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: ["request GET|/x|y|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET https://a:1?y HTTP/1.1\r\nHost: A:1\r\n\r\n",
            framed: ["request GET|/|y|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET http://a:80/x HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: ["request GET|/x|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET http://a/x HTTP/1.1\r\nHost: A:80\r\n\r\n",
            framed: ["request GET|/x|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET http://a: HTTP/1.1\r\nHost: a:80\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET https://[::80]:443 HTTP/1.1\r\nHost: [::80]\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|keep|"]),
        Case(
            bytes: "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|close|"]),
        Case(
            bytes: "GET / HTTP/1.0\r\nHost: a\r\nConnection: x , Keep-Alive\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|keep|"]
        ),
        Case(
            bytes: "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive,CLOSE\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|close|"]
        ),
        Case(
            bytes: "GET / HTTP/1.1\r\nHost: a\r\nConnection: a\r\nConnection: close\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|close|"]
        ),
        Case(
            bytes: "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: ["request PUT|/a|-|absent|absent|absent|keep|abc", "request GET|/|-|absent|absent|absent|keep|"]
        ),
        Case(
            bytes: "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 03\r\n\r\nabc",
            framed: ["continue", "request POST|/|-|absent|absent|absent|keep|abc"]
        ),
        Case(
            bytes: "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
            framed: ["request POST|/|-|absent|absent|absent|keep|"]
        ),
        Case(
            bytes: "POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
            framed: ["request POST|/|-|absent|absent|absent|close|x"]
        ),
        Case(
            bytes: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + "3;a=\"b\"\r\nabc\r\n00\r\nContent-Length: 9\r\nX: y\r\n\r\nDELETE /b HTTP/1.1\r\nHost: a\r\n\r\n",
            framed: [
                "request POST|/|-|absent|absent|absent|keep|abc", "request DELETE|/b|-|absent|absent|absent|keep|",
            ]
        ),
        Case(
            bytes:
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n2\r\n\r\n\r\n0\r\n\r\n",
            framed: ["request POST|/|-|absent|absent|absent|keep|0123456789\r\n"]
        ),
        Case(
            bytes: "GET / HTTP/1.1\r\nX-Latin: é\r\nHost: a\r\nHosts: b\r\nX-Host: c\r\nEmpty:\r\nTab:\ta\tb\t\r\n\r\n",
            framed: ["request GET|/|-|absent|absent|absent|keep|"]
        ),
    ]

    @Test("The framer accepts a valid request", arguments: accepted)
    func isFramed(_ example: Case) {
        #expect(frame(example.bytes).map(\.description) == example.framed)
    }

    /// The result depends only on the bytes, never on how they are split.
    @Test("The result does not depend on how the bytes are split", arguments: accepted)
    func theResultDoesNotDependOnHowTheBytesAreSplit(_ example: Case) {
        let bytes = Array(example.bytes.utf8)
        for cut in bytes.indices {
            #expect(frame([bytes[..<cut], bytes[cut...]]).map(\.description) == example.framed, "cut at \(cut)")
        }
        #expect(frame(bytes.indices.map { bytes[$0...$0] }).map(\.description) == example.framed)
    }

    @Test("The framer stores the fields that the gateway uses") func theFramerStoresTheFieldsThatTheGatewayUses() {
        let framed = frame(
            "POST / HTTP/1.1\r\nHost: a\r\nauthorization:  Basic YQ== \r\nContent-Type: text/plain\r\n"
                + "Content-Encoding: gzip\r\nContent-Encoding: br\r\n\r\n")
        #expect(framed.map(\.description) == ["request POST|/|-|Basic YQ==|text/plain|repeated|keep|"])
    }

    @Test("A request at the limits is accepted") func aRequestAtTheLimitsIsAccepted() {
        #expect(frame(FramingErrorTests.longLine(8192)).map(\.code) == [nil])
        #expect(frame(FramingErrorTests.longHeader(16_384)).map(\.code) == [nil])
        #expect(frame(FramingErrorTests.manyFields(100)).map(\.code) == [nil])
        let body = FramingErrorTests.manyAs(16_384)
        #expect(frame("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16384\r\n\r\n\(body)").map(\.code) == [nil])
        let chunk = "4000\r\n\(body)\r\n0\r\n\r\n"
        #expect(frame("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)").map(\.code) == [nil])
    }

    @Test("A client that always leaves an incomplete request does not increase the memory")
    func aClientThatAlwaysLeavesAnIncompleteRequestDoesNotIncreaseTheMemory() {
        var framer = RequestFramer(limits: .init())
        let (start, rest) = ("GET / HTT", "P/1.1\r\nHost: a\r\n\r\n")
        framer.feed(ByteBuffer(string: start))
        var taken: [FramedRequest] = []
        for _ in 0..<20_000 {
            framer.feed(ByteBuffer(string: rest + start))
            while case .request(let request) = framer.next() { taken = [request] }
        }
        #expect(taken.count == 1)
        #expect(framer.bufferCapacity <= 4096)
    }

    @Test("The progress selects the deadline") func theProgressSelectsTheDeadline() {
        var framer = RequestFramer(limits: .init())
        func feed(_ text: String) -> RequestFramer.Progress {
            framer.feed(.init(string: text))
            _ = framer.next()
            return framer.progress
        }
        #expect(framer.progress == .untouched)
        #expect(feed("\r\n") == .untouched)
        #expect(feed("P") == .head)
        #expect(feed("OST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r") == .head)
        #expect(feed("\n") == .body)
        #expect(feed("a") == .body)
        #expect(feed("b") == .untouched)
    }
}
