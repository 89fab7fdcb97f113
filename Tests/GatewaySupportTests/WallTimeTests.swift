import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite struct WallTimeTests {
    @Test("Times around the epoch are formatted") func theEpoch() {
        #expect(WallTime(microseconds: 0).description == "1970-01-01T00:00:00.000000Z")
        #expect(WallTime(microseconds: -1).description == "1969-12-31T23:59:59.999999Z")
        #expect(WallTime(microseconds: -1).seconds == -1)
        #expect(WallTime(seconds: 1_795_000_000).microseconds == 1_795_000_000_000_000)
    }

    /// The times lie between the years 1 and 9999. The reference is Foundation's calendar.
    @Test("Formatting and parsing agree with Foundation") func formattingAndParsingAgreeWithFoundation() throws {
        let formatter = DateFormatter()
        formatter.calendar = Calendar(identifier: .iso8601)
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ss"
        var random = SplitMix(seed: 2)
        for round in 0..<5000 {
            // Foundation's calendar is Julian before 1582 and WallTime's is not, so half of the rounds stay near the
            // present.
            let range: ClosedRange<Int64> =
                round.isMultiple(of: 2) ? 0...4_102_444_800 : -12_000_000_000...253_402_300_799
            let seconds = Int64.random(in: range, using: &random)
            let micros = Int64.random(in: 0..<1_000_000, using: &random)
            let time = WallTime(microseconds: seconds * 1_000_000 + micros)
            let expected = formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
            let fraction = String(repeating: "0", count: 6 - String(micros).count) + String(micros)
            #expect(time.description == "\(expected).\(fraction)Z")
            #expect(WallTime(rfc3339: time.description) == time)
            #expect(time.seconds == seconds)
        }
    }

    @Test(
        "A valid RFC 3339 time is parsed",
        arguments: [
            ("2026-11-21T07:00:00Z", "2026-11-21T07:00:00.000000Z"),
            ("2026-11-21t07:00:00z", "2026-11-21T07:00:00.000000Z"),
            ("2026-11-21T07:00:00.5Z", "2026-11-21T07:00:00.500000Z"),
            ("2026-11-21T07:00:00.1234567891Z", "2026-11-21T07:00:00.123456Z"),
            ("2026-11-21T07:00:00+01:30", "2026-11-21T05:30:00.000000Z"),
            ("2026-12-31T23:59:59-00:01", "2027-01-01T00:00:59.000000Z"),
            ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000000Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
        ])
    func aValidRFC3339TimeIsParsed(_ text: String, _ canonical: String) {
        #expect(WallTime(rfc3339: text)?.description == canonical)
    }

    @Test(
        "An invalid RFC 3339 time is rejected",
        arguments: [
            "", "2026", "2026-11-21", "2026-11-21T07:00Z", "2026-11-21 07:00:00Z", "2026-11-21T07:00:00",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z", "2026-11-00T00:00:00Z",
            "2026-11-99T00:00:00Z",
            "2026-11-21T24:00:00Z", "2026-11-21T07:60:00Z", "2026-11-21T07:00:60Z", "2026-11-21T07:00:00.Z",
            "2026-11-21T07:00:00Zx", "2026-11-21T07:00:00+0100", "2026-11-21T07:00:00+24:00",
            "2026-11-21T07:00:00+01:60",
            " 2026-11-21T07:00:00Z", "+2026-11-21T07:00:00Z", "-2026-11-21T07:00:00Z", "２026-11-21T07:00:00Z",
            "2026-1-21T07:00:00Z", "2026-11-21T07:00:00ZZ",
        ])
    func anInvalidRFC3339TimeIsRejected(_ text: String) {
        #expect(WallTime(rfc3339: text) == nil)
    }

    /// A peer's token may contain any number.
    @Test("No number traps") func noNumberTraps() {
        for number in [Int64.min, .min + 1, -1_000_000_000_000, 1_000_000_000_000, .max - 1, .max] {
            #expect(WallTime(microseconds: number).description.hasSuffix("Z"))
            _ = WallTime(microseconds: number).seconds
            _ = WallTime(seconds: number).description
        }
    }

    @Test("Seconds out of range are clamped") func secondsOutOfRangeAreClamped() {
        #expect(WallTime(seconds: .max) == WallTime(microseconds: .max))
        #expect(WallTime(seconds: .min) == WallTime(microseconds: .min))
        #expect(WallTime(seconds: .max) > WallTime(seconds: 1_795_000_000))
    }
}
