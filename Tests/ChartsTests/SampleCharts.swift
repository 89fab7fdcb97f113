import Charts
import GatewaySupport

/// Pictures and data for tests. The data are fixed, and look like those of a busy gateway.
enum SampleCharts {
    static let links = PairLinks(
        pair: { "/calls?sender=\(percentEncoded($0))&recipient=\(percentEncoded($1))" },
        user: { "/users/\(percentEncoded($0))" })

    /// Distinct pairs, heavy ones and light ones, a fifth of them with refused sends.
    static func pairs(_ count: Int, users: Int = 300) -> [PairCount] {
        var state: UInt64 = 7
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var seen: Set<[Int]> = []
        var pairs: [PairCount] = []
        while pairs.count < count {
            let users = [min(next(users), next(users)), min(next(users), next(users))]
            guard seen.insert(users).inserted else { continue }
            let sends = 1 + next(10) * next(10) * next(10)
            pairs.append(
                PairCount(
                    sender: "user-\(users[0])", recipient: "user-\(users[1])", sends: sends,
                    refused: next(5) == 0 ? next(sends + 1) : 0))
        }
        return pairs
    }

    /// Every kind of picture, with the text as each name that it shows.
    static func all(named name: String) -> [any Chart] {
        let pairs = [
            PairCount(sender: name, recipient: "bob", sends: 12, refused: 1),
            PairCount(sender: "bob", recipient: name, sends: 3, refused: 3),
        ]
        let values: [Double?] = [1, 2, nil, 0, 7]
        return [
            MatrixChart(pairs, links: links), MatrixChart(pairs), GraphChart(pairs, links: links), GraphChart(pairs),
            TimeChart(
                start: WallTime(seconds: 1_764_080_000), interval: 60, unit: name,
                series: [TimeSeries(name: name, values: values), TimeSeries(name: "refusals", values: [nil, 1])]),
            HistogramChart(noun: name, buckets: buckets), Sparkline(name: name, values: values),
        ]
    }

    /// Names that try to leave their place in the markup, or to take more space than they should.
    static let hostileNames: [String: String] = [
        "empty": "", "script": "<script>alert(1)</script>", "attribute": "\"><a href='x' onclick=\"y\">",
        "CDATA": "]]>", "entity": "&lt;", "end tag": "</svg><svg onload=x>", "controls": "\u{0}\u{1}\u{1F}\u{7F}",
        "noncharacters": "\u{FFFE}\u{FFFF}", "override": "a\u{202E}b", "end of isolates": "\u{2069}\u{2069}x",
        "open isolate": "\u{2068}x", "Hebrew": "שלום", "lines": "x\r\ny\u{2028}z", "combining": "e\u{301}",
        "marks": String(repeating: "a\u{301}\u{302}\u{303}\u{304}", count: 5000),
        "families": String(repeating: "👩‍👩‍👧‍👦", count: 2000), "entities": String(repeating: "&<>\"'", count: 2000),
    ]

    /// Every kind of picture without data.
    static let empty: [any Chart] = [
        MatrixChart([], links: links), GraphChart([]), Sparkline(name: "sends", values: []),
        TimeChart(start: WallTime(seconds: 0), interval: 60, unit: "per minute", series: []),
        HistogramChart(noun: "calls", buckets: []),
    ]

    static let buckets = [
        HistogramBucket(upperBound: 0.001, count: 40), HistogramBucket(upperBound: 0.002, count: 50),
        HistogramBucket(upperBound: 0.005, count: 10), HistogramBucket(upperBound: .infinity, count: 0),
    ]

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain = byte < 0x80 && (Character(Unicode.Scalar(byte)).isLetter || byte == UInt8(ascii: "-"))
            return isPlain || (0x30...0x39).contains(byte)
                ? String(Unicode.Scalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
