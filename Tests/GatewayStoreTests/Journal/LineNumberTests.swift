import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

/// Numbers of lines, as names, lines and rows state them.
@Suite("Journal: numbers of lines")
struct LineNumberTests {
    @Test(
        "The name of a segment has 20 digits, of a number from 1 to 2^63 − 2",
        arguments: [
            ("journal-00000000000000000001.jsonl", 1 as UInt64?),
            ("journal-09223372036854775806.jsonl", 9_223_372_036_854_775_806),
            ("journal-00000000000000000000.jsonl", nil), ("journal-09223372036854775807.jsonl", nil),
            ("journal-09223372036854775808.jsonl", nil), ("journal-18446744073709551615.jsonl", nil),
            ("journal-99999999999999999999.jsonl", nil), ("journal-+0000000000000000001.jsonl", nil),
            ("journal--0000000000000000001.jsonl", nil), ("journal-0000000000000000001.jsonl", nil),
            ("journal-000000000000000000001.jsonl", nil), ("journal-00000000000000000001.JSONL", nil),
            ("journal-0000000000000000000x.jsonl", nil), ("journal-0000000000000000000١.jsonl", nil),
            ("journal-00000000000000000001.jsonl.bak", nil), ("journal-", nil), ("", nil),
        ] as [(String, UInt64?)])
    func names(name: String, number: UInt64?) {
        #expect(JournalSegmentName(name)?.first == number)
        #expect(JournalSegmentName.foreign(among: [name]).isEmpty == (number != nil || !name.hasPrefix("journal-")))
    }

    @Test(
        "Every reader accepts the same numbers of lines, each in one spelling",
        arguments: [
            ("1", 1 as UInt64?), ("42", 42), ("9223372036854775806", 9_223_372_036_854_775_806), ("0", nil),
            ("01", nil),
            ("+1", nil), ("-1", nil), ("", nil), (" 1", nil), ("1 ", nil), ("1.0", nil), ("1e3", nil),
            ("9223372036854775807", nil), ("9223372036854775808", nil), ("18446744073709551615", nil),
            ("18446744073709551617", nil), ("99999999999999999999", nil), ("\"1\"", nil),
        ] as [(String, UInt64?)])
    func lines(text: String, number: UInt64?) throws {
        let origin = #"{"seq":1,"at":"2026-11-21T07:00:00.000000Z","kind":"start","through":1,"prev":"","hash":""}"#
        let line = try ForgedLine.hashed(
            Array(origin.replacing("\"through\":1", with: "\"through\":\(text)").utf8), number: text,
            previous: JournalChain.beginning.previous)
        let reader = JournalLineReader(bytes: line[...])
        #expect(reader.sequence == number)
        #expect(reader.lineNumber("through") == number)
        #expect(CheckedLine(line, line.indices).number == number)
        #expect(line.withUnsafeBytes { IndexedLine($0, line.indices) }?.number == number)
        var order = LineOrder(from: 1, before: nil)
        #expect(order.lines(in: line + [0x0A]).count == (number == nil ? 0 : 1))
    }

    @Test("Lines count while their numbers ascend within the segment")
    func order() {
        var order = LineOrder(from: 5, before: 9)
        let accepted = [4, 5, 5, 3, 7, 6, 9, 10, 8, 8].map { order.accepts($0) }
        #expect(accepted == [false, true, false, false, true, false, false, false, true, false])
    }

    @Test("A chain ends with the last number")
    func lastNumber() {
        var chain = JournalChain(next: LineNumber.range.upperBound, hash: .zero)
        var bytes: [UInt8] = []
        let members = Array(#","kind":"start""#.utf8)[...]
        let (isFirst, isSecond) = (
            chain.append(members, at: Array("t".utf8), to: &bytes),
            chain.append(members, at: Array("t".utf8), to: &bytes)
        )
        #expect(isFirst && !isSecond)
        #expect(JournalLineReader(bytes: bytes.dropLast()).sequence == LineNumber.range.upperBound)
    }
}
