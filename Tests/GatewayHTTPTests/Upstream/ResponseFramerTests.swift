import Gateway
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of the response parser, for any splitting of the bytes.
@Suite struct ResponseFramerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var bytes: String
        /// Status, body and reusability; or `needMore` or `fault`.
        var word: String

        var testDescription: String { bytes.prefix(60).debugDescription }
    }

    static let cases: [Case] = [
        Case(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", word: "200 ab keep"),
        Case(bytes: "HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", word: "200  keep"),
        Case(
            bytes: "HTTP/1.1 500 \r\nContent-Type: a/b\r\nContent-Type: c\r\nContent-Length: 0\r\n\r\n",
            word: "500  keep"),
        Case(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", word: "200  close"),
        Case(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: a, close\r\n\r\n", word: "200  close"),
        Case(bytes: "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", word: "200  close"),
        Case(bytes: "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", word: "200  keep"),
        Case(bytes: "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", word: "204  keep"),
        Case(bytes: "HTTP/1.1 304 Not Modified\r\n\r\n", word: "304  keep"),
        Case(
            bytes:
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            word: "200 x keep"),
        Case(
            bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nT: u\r\n\r\n",
            word: "200 abc keep"),
        Case(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", word: "needMore"),
        Case(bytes: "HTTP/1.1 200 OK\r\n\r\nabc", word: "needMore"),
        Case(bytes: "HTTP/1.1 200 OK\nContent-Length: 0\n\n", word: "fault"),
        Case(bytes: "HTTP/2.0 200 OK\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 2000 OK\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 20x OK\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 600 OK\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 099 OK\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 101 Switching\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", word: "fault"),
        Case(bytes: "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", word: "fault"),
        Case(
            bytes: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", word: "fault"),
        Case(bytes: "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 101), word: "fault"),
        Case(bytes: String(repeating: "HTTP/1.1 100 \r\n\r\n", count: 9), word: "fault"),
        Case(bytes: String(repeating: "x", count: 8192), word: "fault"),
    ]

    @Test("The parser gives the expected result", arguments: cases)
    func isRead(_ example: Case) {
        #expect(word([Array(example.bytes.utf8)[...]]) == example.word)
    }

    @Test("The result does not depend on how the bytes are split", arguments: cases)
    func theResultDoesNotDependOnHowTheBytesAreSplit(_ example: Case) {
        let bytes = Array(example.bytes.utf8)
        #expect(word(bytes.indices.map { bytes[$0...$0] }) == example.word)
    }

    @Test("The end of the connection completes a response without a length")
    func theEndOfTheConnectionCompletesAResponseWithoutALength() {
        var framer = ResponseFramer(bodyLimit: 100)
        _ = framer.receive(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\nab"))
        _ = framer.receive(ByteBuffer(string: "c"))
        guard case .response(let response, let isReusable) = framer.receiveEnd() else {
            Issue.record("no answer")
            return
        }
        #expect(String(buffer: response.body) == "abc" && !isReusable)
    }

    @Test("A fault is not a response even if the connection closes")
    func aFaultIsNotAResponseEvenIfTheConnectionCloses() {
        var framer = ResponseFramer(bodyLimit: 2)
        guard case .fault = framer.receive(ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\nabc")) else {
            Issue.record("an answer that is too long")
            return
        }
        guard case .needMore = framer.receiveEnd() else {
            Issue.record("a fault became an answer")
            return
        }
    }

    @Test("Random mutations give the same result however they are split")
    func randomMutationsGiveTheSameResultHoweverTheyAreSplit() {
        let seeds = Self.cases.map { Array($0.bytes.prefix(300).utf8) }
        let bytes = Array("\r\n :;012fxHTTP/chunkedclose".utf8) + [0, 0x80, 0xFF]
        var generator = SplitMix(seed: 7)
        for round in 0..<10_000 {
            var mutated = seeds[round % seeds.count]
            for _ in 0..<2 {
                let index = Int.random(in: 0..<mutated.count, using: &generator)
                let byte = bytes.randomElement(using: &generator) ?? 0
                if Bool.random(using: &generator) { mutated[index] = byte } else { mutated.insert(byte, at: index) }
            }
            let cut = Int.random(in: 0...mutated.count, using: &generator)
            let (whole, split) = (word([mutated[...]]), word([mutated[..<cut], mutated[cut...]]))
            // Bytes after the response are known only when they arrive.
            #expect(whole.replacing(" close", with: " keep") == split.replacing(" close", with: " keep"))
        }
    }

    @Test("Bytes after the response are detected") func bytesAfterTheResponseAreDetected() {
        #expect(word([Array("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc".utf8)[...]]) == "200 a close")
    }

    private func word(_ pieces: [ArraySlice<UInt8>]) -> String {
        var framer = ResponseFramer(bodyLimit: 100)
        for piece in pieces {
            switch framer.receive(ByteBuffer(bytes: piece)) {
            case .needMore: continue
            case .fault: return "fault"
            case .response(let response, let isReusable):
                let body = String(buffer: response.body)
                return "\(response.status) \(body) \(isReusable ? "keep" : "close")"
            }
        }
        return "needMore"
    }
}
