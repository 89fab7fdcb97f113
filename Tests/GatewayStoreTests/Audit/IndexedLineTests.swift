import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Audit: the members of a line that the index stores")
struct IndexedLineTests {
    /// The members of the line as texts, from the one-pass parser.
    private static func parsed(_ text: String) -> [String?]? {
        let bytes = Array("..\(text)..".utf8)
        return bytes.withUnsafeBytes { buffer in
            IndexedLine(buffer, 2..<(bytes.count - 2)).map { line in
                func text(_ range: Range<Int>?) -> String? { range.map { String(decoding: buffer[$0], as: UTF8.self) } }
                return [
                    "\(line.number)", "\(line.count)", "\(line.hasIdempotencyKey)", text(line.at), text(line.kind),
                    text(line.call), text(line.action), text(line.user), text(line.recipient), text(line.pns),
                    text(line.result), line.milliseconds.map { "\($0)" },
                ]
            }
        }
    }

    /// The same members, each found by itself.
    private static func expected(_ text: String) -> [String?]? {
        let line = JournalLineReader(bytes: Array(text.utf8)[...])
        guard let number = line.sequence, number <= UInt64(Int64.max) else { return nil }
        let names: [StaticString] = ["at", "kind", "call", "action", "user", "recipient", "pns", "result"]
        return ["\(number)", "\(line.count)", "\(line.bytes(of: "idempotency") != nil)"] + names.map { line.text($0) }
            + [line.number("ms").map { "\($0)" }]
    }

    @Test("Lines of every kind, and ten thousand mutations of them, are parsed as by the reader of single members")
    func mutations() async throws {
        let fixture = try await AuditFixture()
        let lines = try fixture.journal.lines().map(\.text)
        for line in lines { #expect(Self.parsed(line) == Self.expected(line), "\(line)") }
        var random = SplitMix(seed: 5)
        let parts = [
            "\"", "\\\"", ",", ":", "{", "}", "[1,\"user\":\"x\"]", ",\"user\":\"eve\"", ",\"count\":7",
            ",\"count\":\"7\"",
            ",\"ms\":7", ",\"ms\":\"7\"", ",\"prev\":\"", ",\"idempotency\":\"0\"", "\u{0}", "ü", "9999999999999999999",
            "true",
        ]
        for _ in 0..<10_000 {
            var text = Array(lines.randomElement(using: &random) ?? "")
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text.remove(at: place)
                case 1: text.insert(contentsOf: parts.randomElement(using: &random) ?? "", at: place)
                default: text.removeSubrange(place..<min(text.count, place + 20))
                }
                if text.isEmpty { break }
            }
            let line = String(text).replacing("\n", with: "")
            #expect(Self.parsed(line) == Self.expected(line), "\(line)")
        }
    }

    @Test("A time that is not in the journal's form is read as by itself, and does not change how later lines are read")
    func times() {
        let second = "2026-11-21T07:00:00"
        let texts = [
            "\(second).000001Z", "\(second).000002X", "\(second).1+01:00", "\(second).000003Z", "\(second)_000004Z",
            "\(second).00000aZ", "\(second).000005Z", "\(second)Z",
        ]
        var warm = LineTimestampReader()
        for text in texts {
            let bytes = Array(text.utf8)
            let expected = WallTime(rfc3339: text)?.microseconds
            #expect(bytes.withUnsafeBytes { warm.time(in: $0) } == expected, "\(text)")
            var cold = LineTimestampReader()
            #expect(bytes.withUnsafeBytes { cold.time(in: $0) } == expected, "\(text)")
        }
    }

    @Test("Names of any length spread over the table: a segment with 30,000 of them is indexed in linear time")
    func names() throws {
        for pattern in ["u%07d", "user%012d", "a%d", "%dz@example.com"] {
            var builder = SegmentIndexBuilder(first: 1)
            let lines = (0..<30_000).map { number in
                let name = String(format: pattern, number)
                return #"{"seq":\#(number + 1),"at":"2026-11-21T07:00:00.000000Z","kind":"intent","user":"\#(name)"}"#
            }
            let began = ContinuousClock.now
            try builder.add(Array((lines.joined(separator: "\n") + "\n").utf8), before: nil)
            let index = SegmentIndex(builder.encoded(before: nil, size: UInt64(builder.bytes)))
            // A table that collides needs minutes.
            #expect(ContinuousClock.now - began < .seconds(20), "\(pattern)")
            let reader = SegmentIndexReader(index)
            for number in stride(from: 0, to: 30_000, by: 997) {
                let name = try #require(try reader.name(String(format: pattern, number)))
                #expect(try reader.rows(ofUser: name) == [UInt32(number)])
            }
            #expect(try reader.name("nobody") == nil)
        }
    }
}
