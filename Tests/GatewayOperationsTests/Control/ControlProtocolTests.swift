import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayOperations

@Suite("Control protocol")
struct ControlProtocolTests {
    private func request(_ text: String) throws(ControlError) -> ControlRequest {
        try ControlRequest(line: Array(text.utf8))
    }

    @Test("A message that is written and read again is unchanged")
    func roundTrip() throws {
        let full = ControlRequest("bans lift", [.init("user", .string("a\nb\u{0}\"")), .init("all", .bool(true))])
        for sent in [full, ControlRequest("reload")] {
            #expect(sent.line.count { $0 == UInt8(ascii: "\n") } == 1)
            #expect(try ControlRequest(line: Array(sent.line.dropLast())) == sent)
        }
        let answers: [ControlResponse] = [
            .item(.array([.string("x\n"), .null])), .item(.null), .done,
            .failed(.refused("no")), .failed(.malformed("what?")), .failed(.unavailable("later\nmore")),
        ]
        for answer in answers { #expect(ControlResponse(line: Array(answer.line.dropLast())) == answer) }
    }

    @Test(
        "An invalid request is malformed",
        arguments: [
            "", " ", "null", "[]", "\"control\"", "{", "{}", #"{"control":1}"#, #"{"control":1,"operation":7}"#,
            #"{"control":2,"operation":"reload"}"#, #"{"control":"1","operation":"reload"}"#,
            #"{"control":1.0,"operation":"reload"}"#, #"{"control":99999999999999999999,"operation":"reload"}"#,
            #"{"operation":"reload"}"#, #"{"control":1,"operation":"reload"}{}"#,
            #"{"control":1,"operation":"reload","operation":"bans list"}"#,
            #"{"control":1,"operation":"reload","Operation":"bans list"}"#,
            #"{"control":1,"operation":"reload","arguments":[]}"#,
            #"{"control":1,"operation":"reload","arguments":null}"#,
            #"{"control":1,"operation":"reload","more":1}"#,
            "{\"control\":1,\"operation\":\"reload\u{0}\"}", "\u{0}", "{\"control\":1,\"operation\":\"rel\toad\"}",
            #"{"control":1,"operation":"\ud800"}"#, String(repeating: "[", count: 40),
            #"{"control":1,"operation":"x","arguments":{"a":[[[[[[[[[[]]]]]]]]]]}}"#,
            "\u{FEFF}{}",
        ])
    func malformed(text: String) {
        #expect { try request(text) } throws: { ($0 as? ControlError)?.kind == .malformed }
    }

    @Test("A request with invalid UTF-8 is malformed")
    func notUnicode() {
        let line = Array(#"{"control":1,"operation":"a"#.utf8) + [0xFF] + Array("\"}".utf8)
        #expect { try ControlRequest(line: line) } throws: { ($0 as? ControlError)?.kind == .malformed }
    }

    @Test("The line reader returns the same lines however the bytes are split")
    func splits() {
        let bytes = Array("one\n\ntwo\r\nthree\nrest".utf8)
        for size in 1...bytes.count {
            var reader = LineReader(maximumLength: 5)
            var lines: [LineReader.Line] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                while let line = reader.next() { lines.append(line) }
            }
            #expect(lines == ["one", "", "two\r", "three"].map { .complete(Array($0.utf8)) })
        }
    }

    @Test("A line above the limit is too long immediately, with or without its end, however it is split")
    func tooLong() {
        for text in ["123456", "123456\n", "1\n123456"] {
            let bytes = Array(text.utf8)
            for size in 1...bytes.count {
                var reader = LineReader(maximumLength: 5)
                var last: LineReader.Line?
                for start in stride(from: 0, to: bytes.count, by: size) where last != .tooLong {
                    reader.append(bytes[start..<min(start + size, bytes.count)])
                    while let line = reader.next() {
                        last = line
                        if line == .tooLong { break }
                    }
                }
                #expect(last == .tooLong, "\(text) by \(size)")
            }
        }
    }

    @Test("A mutated request does not trap")
    func mutations() {
        var random = SplitMix(seed: 7)
        let good = Array(ControlRequest("bans lift", [.init("user", .string("älice"))]).line.dropLast())
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0...Int(random.next() % 3) {
                let index = Int(random.next() % UInt64(bytes.count))
                switch random.next() % 3 {
                case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
                default: if bytes.count > 1 { bytes.remove(at: index) }
                }
            }
            _ = try? ControlRequest(line: bytes)
            _ = ControlResponse(line: bytes)
        }
    }
}
