import GatewayCore
import GatewaySupport
import NIOCore
import Testing

@testable import GatewayHTTP

/// One test for each framing rule, with bytes that violate it.
@Suite struct FramingErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: String
        var code = RejectionCode.malformedRequest

        var testDescription: String { name }
    }

    private static func get(_ fields: String) -> String { "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n" }

    private static func chunked(_ body: String) -> String {
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
    }

    private static func line(_ line: String) -> String { "\(line)\r\nHost: a\r\n\r\n" }

    static let requestLines: [Case] = [
        Case(name: "three empty lines first", bytes: "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "bare CR first", bytes: "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "bare LF first", bytes: "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        Case(name: "TLS hello", bytes: "\u{16}\u{3}\u{1}"),
        Case(name: "no method", bytes: line(" / HTTP/1.1")),
        Case(name: "method with a colon", bytes: line("GE:T / HTTP/1.1")),
        Case(name: "two spaces before the target", bytes: line("GET  / HTTP/1.1")),
        Case(name: "two spaces before the version", bytes: line("GET /  HTTP/1.1")),
        Case(name: "tab before the target", bytes: line("GET\t/ HTTP/1.1")),
        Case(name: "space after the version", bytes: line("GET / HTTP/1.1 ")),
        Case(name: "no version", bytes: line("GET /")),
        Case(name: "no target", bytes: line("GET HTTP/1.1")),
        Case(name: "HTTP/0.9", bytes: line("GET / HTTP/0.9")),
        Case(name: "HTTP/1.2", bytes: line("GET / HTTP/1.2")),
        Case(name: "HTTP/2.0", bytes: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Case(name: "HTTP/1.10", bytes: line("GET / HTTP/1.10")),
        Case(name: "lower-case version", bytes: line("GET / http/1.1")),
        Case(name: "other protocol", bytes: line("GET / ICE/1.1")),
        Case(name: "bare LF after the request line", bytes: "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        Case(name: "bare CR after the request line", bytes: "GET / HTTP/1.1\rHost: a\r\n\r\n"),
        Case(name: "fragment", bytes: line("GET /#a HTTP/1.1")),
        Case(name: "NUL in the target", bytes: line("GET /\u{0} HTTP/1.1")),
        Case(name: "DEL in the target", bytes: line("GET /\u{7F} HTTP/1.1")),
        Case(name: "beyond ASCII in the target", bytes: line("GET /é HTTP/1.1")),
        Case(name: "CONNECT", bytes: "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
        Case(name: "CONNECT with a path", bytes: line("CONNECT / HTTP/1.1")),
        Case(name: "authority-form", bytes: "GET a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n"),
        Case(name: "asterisk-form", bytes: line("OPTIONS * HTTP/1.1")),
        Case(name: "relative path", bytes: line("GET api HTTP/1.1")),
        Case(name: "other scheme", bytes: line("GET ftp://a/ HTTP/1.1")),
        Case(name: "absolute-form of another host", bytes: line("GET http://b/ HTTP/1.1")),
        Case(name: "absolute-form with a port that Host lacks", bytes: line("GET http://a:81/ HTTP/1.1")),
        Case(name: "absolute-form with the default port of another scheme", bytes: line("GET https://a:80/ HTTP/1.1")),
        Case(
            name: "absolute-form with an address that ends like a default port",
            bytes: "GET http://[::1:80]/ HTTP/1.1\r\nHost: [::1]\r\n\r\n"),
        Case(name: "absolute-form with user information", bytes: line("GET http://x@a/ HTTP/1.1")),
        Case(name: "absolute-form without authority", bytes: line("GET http:///x HTTP/1.1")),
        Case(name: "absolute-form cut short", bytes: line("GET http:/ HTTP/1.1")),
    ]

    static let fields: [Case] = [
        Case(name: "no Host", bytes: "GET / HTTP/1.1\r\nX: a\r\n\r\n"),
        Case(name: "no Host in HTTP/1.0", bytes: "GET / HTTP/1.0\r\n\r\n"),
        Case(name: "empty Host", bytes: "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        Case(name: "Host twice", bytes: get("Host: a")),
        Case(name: "two hosts in one", bytes: "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        Case(name: "Host with a path", bytes: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        Case(name: "Host with user information", bytes: "GET / HTTP/1.1\r\nHost: x@a\r\n\r\n"),
        Case(name: "Host with a long port", bytes: "GET / HTTP/1.1\r\nHost: a:123456\r\n\r\n"),
        Case(name: "Host with an open bracket", bytes: "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
        Case(name: "folded field", bytes: get("X: a\r\n b")),
        Case(name: "field folded by a tab", bytes: get("X: a\r\n\tb")),
        Case(name: "indented first field", bytes: "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        Case(name: "space before the colon", bytes: get("X : a")),
        Case(name: "tab before the colon", bytes: get("X\t: a")),
        Case(name: "no colon", bytes: get("X")),
        Case(name: "no name", bytes: get(": a")),
        Case(name: "name beyond ASCII", bytes: get("Xé: a")),
        Case(name: "name with a slash", bytes: get("X/Y: a")),
        Case(name: "NUL in a value", bytes: get("X: a\u{0}b")),
        Case(name: "escape in a value", bytes: get("X: a\u{1B}b")),
        Case(name: "DEL in a value", bytes: get("X: a\u{7F}b")),
        Case(name: "bare CR in a value", bytes: get("X: a\rb")),
        Case(name: "bare LF after a value", bytes: get("X: a\nY: b")),
        Case(name: "bare LF at the end", bytes: "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        Case(name: "bare CR at the end", bytes: "GET / HTTP/1.1\r\nHost: a\r\n\rX"),
        Case(name: "beyond ASCII in Authorization", bytes: get("Authorization: Basic é")),
        Case(name: "beyond ASCII in Content-Type", bytes: get("Content-Type: é")),
        Case(name: "Content-Length twice", bytes: get("Content-Length: 0\r\nContent-Length: 0")),
        Case(name: "Content-Length as a list", bytes: get("Content-Length: 0, 0")),
        Case(name: "empty Content-Length", bytes: get("Content-Length:")),
        Case(name: "signed Content-Length", bytes: get("Content-Length: +1")),
        Case(name: "negative Content-Length", bytes: get("Content-Length: -1")),
        Case(name: "hexadecimal Content-Length", bytes: get("Content-Length: 0x1")),
        Case(name: "Content-Length with a space in it", bytes: get("Content-Length: 1 1")),
        Case(name: "look-alike Content_Length", bytes: get("Content_Length: 1")),
        Case(name: "look-alike ContentLength", bytes: get("ContentLength: 1")),
        Case(name: "look-alike Content.Length", bytes: get("content.length: 1")),
        Case(name: "look-alike Transfer_Encoding", bytes: get("Transfer_Encoding: chunked")),
        Case(name: "look-alike -Host", bytes: get("-Host: b")),
        Case(name: "look-alike Host'", bytes: get("Host': b")),
        Case(name: "look-alike Author-ization", bytes: get("Author-ization: b")),
        Case(name: "Content-Length with chunks", bytes: get("Content-Length: 1\r\nTransfer-Encoding: chunked")),
        Case(name: "chunks with Content-Length", bytes: get("Transfer-Encoding: chunked\r\nContent-Length: 1")),
        Case(name: "Transfer-Encoding twice", bytes: get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")),
        Case(name: "gzip, chunked", bytes: get("Transfer-Encoding: gzip, chunked")),
        Case(name: "chunked, identity", bytes: get("Transfer-Encoding: chunked, identity")),
        Case(name: "identity", bytes: get("Transfer-Encoding: identity")),
        Case(name: "empty coding", bytes: get("Transfer-Encoding:")),
        Case(name: "xchunked", bytes: get("Transfer-Encoding: xchunked")),
        Case(name: "chunked with a parameter", bytes: get("Transfer-Encoding: chunked;a=b")),
        Case(name: "vertical tab before chunked", bytes: get("Transfer-Encoding: \u{B}chunked")),
        Case(
            name: "chunks in HTTP/1.0",
            bytes: "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Case(name: "other expectation", bytes: get("Expect: 200-ok"), code: .expectationFailed),
        Case(name: "list of expectations", bytes: get("Expect: 100-continue, x"), code: .expectationFailed),
        Case(
            name: "expectation twice", bytes: get("Expect: 100-continue\r\nExpect: 100-continue"),
            code: .expectationFailed),
    ]

    static let chunks: [Case] = [
        Case(name: "size that is no number", bytes: chunked("x\r\n")),
        Case(name: "no size", bytes: chunked("\r\n")),
        Case(name: "size with 0x", bytes: chunked("0x1\r\na\r\n0\r\n\r\n")),
        Case(name: "signed size", bytes: chunked("+1\r\na\r\n0\r\n\r\n")),
        Case(name: "size with a space behind", bytes: chunked("1 \r\na\r\n0\r\n\r\n")),
        Case(name: "size with a space before", bytes: chunked(" 1\r\na\r\n0\r\n\r\n")),
        Case(name: "size of nine digits", bytes: chunked("000000001\r\na\r\n0\r\n\r\n")),
        Case(name: "size line ends in LF", bytes: chunked("1\na\r\n0\r\n\r\n")),
        Case(name: "size line ends in CR", bytes: chunked("1\ra\r\n0\r\n\r\n")),
        Case(name: "chunk longer than its size", bytes: chunked("1\r\nab\r\n0\r\n\r\n")),
        Case(name: "chunk ends in LF", bytes: chunked("1\r\na\n0\r\n\r\n")),
        Case(name: "chunk ends in CR", bytes: chunked("1\r\na\r0\r\n\r\n")),
        Case(name: "extension without a name", bytes: chunked("1;\r\na\r\n0\r\n\r\n")),
        Case(name: "second extension without a name", bytes: chunked("1;a;\r\na\r\n0\r\n\r\n")),
        Case(name: "control in an extension", bytes: chunked("1;a\u{0}\r\na\r\n0\r\n\r\n")),
        Case(name: "bare LF in an extension", bytes: chunked("1;a\nb\r\na\r\n0\r\n\r\n")),
        Case(name: "endless extension", bytes: chunked("1;" + String(repeating: "a", count: 5000))),
        Case(
            name: "extensions endless in sum",
            bytes: chunked(String(repeating: "1;\(String(repeating: "b", count: 500))\r\na\r\n", count: 10))),
        Case(name: "bare LF after the last chunk", bytes: chunked("0\r\n\n")),
        Case(name: "folded trailer", bytes: chunked("0\r\nA: b\r\n c\r\n\r\n")),
        Case(name: "trailer without a name", bytes: chunked("0\r\n: b\r\n\r\n")),
    ]

    static let limits: [Case] = [
        Case(name: "8193 bytes of request line", bytes: longLine(8193), code: .uriTooLong),
        Case(name: "a request line without end", bytes: String(repeating: "G", count: 9000), code: .uriTooLong),
        Case(name: "16385 bytes of fields", bytes: longHeader(16_385), code: .headersTooLarge),
        Case(name: "a field without end", bytes: "GET / HTTP/1.1\r\nX: " + manyAs(20_000), code: .headersTooLarge),
        Case(name: "a name without end", bytes: "GET / HTTP/1.1\r\n" + manyAs(20_000), code: .headersTooLarge),
        Case(name: "101 fields", bytes: manyFields(101), code: .headersTooLarge),
        Case(name: "body of 16385 bytes", bytes: get("Content-Length: 16385"), code: .payloadTooLarge),
        Case(
            name: "length of 40 digits", bytes: get("Content-Length: \(String(repeating: "9", count: 40))"),
            code: .payloadTooLarge),
        Case(
            name: "too long and expecting leave", bytes: get("Content-Length: 16385\r\nExpect: 100-continue"),
            code: .payloadTooLarge),
        Case(name: "chunk of 16385 bytes", bytes: chunked("4001\r\n"), code: .payloadTooLarge),
        Case(name: "chunk of 8 digits", bytes: chunked("FFFFFFFF\r\n"), code: .payloadTooLarge),
        Case(
            name: "chunks of 16385 bytes together", bytes: chunked("4000\r\n\(manyAs(16_384))\r\n1\r\n"),
            code: .payloadTooLarge),
        Case(name: "trailers without end", bytes: chunked("0\r\nA: " + manyAs(20_000)), code: .headersTooLarge),
        Case(
            name: "101 trailers", bytes: chunked("0\r\n" + String(repeating: "A: b\r\n", count: 101)),
            code: .headersTooLarge),
    ]

    static func manyAs(_ count: Int) -> String { String(repeating: "a", count: count) }

    static func longLine(_ length: Int) -> String {
        line("GET /\(manyAs(length - "GET / HTTP/1.1".utf8.count)) HTTP/1.1")
    }

    static func longHeader(_ length: Int) -> String {
        let rest = "Host: a\r\nX: \r\n\r\n".utf8.count
        return "GET / HTTP/1.1\r\nHost: a\r\nX: \(manyAs(length - rest))\r\n\r\n"
    }

    static func manyFields(_ count: Int) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: b\r\n", count: count - 1) + "\r\n"
    }

    @Test(
        "A violation yields one fault and nothing after it",
        arguments: requestLines + fields + chunks + limits)
    func aViolationYieldsOneFaultAndNothingAfterIt(_ example: Case) {
        // A complete request after the fault must not be parsed, whether it arrives with the fault or later.
        let bytes = Array(example.bytes.utf8)[...]
        let smuggled = Array("\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n".utf8)[...]
        let apart = frame([bytes, smuggled])
        #expect(apart.count { $0.code != nil } == 1)
        #expect(apart.last?.code == example.code)
        #expect(!apart.contains { "\($0)".contains("smuggled") })
        let together = frame([bytes + smuggled])
        #expect(together.last?.code == example.code)
        #expect(!together.contains { "\($0)".contains("smuggled") })
    }

    @Test("The fault does not depend on how the bytes are split", arguments: requestLines + fields + chunks + limits)
    func theFaultDoesNotDependOnHowTheBytesAreSplit(_ example: Case) {
        let bytes = Array(example.bytes.utf8)
        let whole = frame([bytes[...]])
        #expect(frame(bytes.indices.map { bytes[$0...$0] }) == whole)
    }

    @Test("A framer stays faulted") func aFramerStaysFaulted() {
        var framer = RequestFramer(limits: .init())
        for _ in 0..<3 {
            framer.feed(.init(string: "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"))
            guard case .fault(let fault) = framer.next() else {
                Issue.record("went on after a fault")
                return
            }
            #expect(fault.code == .malformedRequest)
        }
    }
}
