import GatewaySupport
import GatewayTesting
import Testing

@Suite struct JSONParserTests {
    private func parse(_ text: String, _ parser: JSONParser = JSONParser()) throws(JSONParser.Fault) -> JSONValue {
        try parse(Array(text.utf8), parser)
    }

    private func parse(_ bytes: [UInt8], _ parser: JSONParser = JSONParser()) throws(JSONParser.Fault) -> JSONValue {
        try parser.parse(bytes.span)
    }

    @Test("The parser reads every kind of value") func theParserReadsEveryKindOfValue() throws {
        let value = try parse(" {\"a\" : [1, -2.5e+3, \"x\", true, false, null, {}, []]} \r\n\t")
        #expect(
            value
                == .object([
                    .init(
                        "a",
                        .array([
                            .number("1"), .number("-2.5e+3"), .string("x"), .bool(true), .bool(false), .null,
                            .object([]),
                            .array([]),
                        ]))
                ]))
        #expect(value["a"] != nil && value["A"] == nil)
        #expect(value.member(anyCase: "A") == value["a"])
        #expect(try parse("12").integer == 12)
        #expect(try parse("12.0").integer == nil)
        #expect(try parse("99999999999999999999").integer == nil)
    }

    @Test(
        "The parser decodes escapes in strings",
        arguments: [
            ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\u{8}\u{C}\n\r\t"), ("\"\\u00e9\\u0000\"", "\u{E9}\u{0}"),
            ("\"\\uD83D\\uDE00\"", "\u{1F600}"), ("\"\u{7F}\u{1F600}\"", "\u{7F}\u{1F600}"), ("\"\"", ""),
            ("\"\u{FFFF}\\uFFFF\"", "\u{FFFF}\u{FFFF}"),
        ])
    func decodesStrings(_ text: String, _ decoded: String) throws {
        let string = try #require(try parse(text).string)
        #expect(Array(string.utf8) == Array(decoded.utf8))
    }

    @Test(
        "Invalid JSON is rejected with its offset",
        arguments: [
            "", " ", "{", "}", "[", "\"", "\"\\", "\"\\u", "\"\\u12", "\"\\u123", "\"\\u123g\"", "\"\\x41\"", "\"\n\"",
            "\"\u{0}\"",
            "'a'", "tru", "True", "nul", "NaN", "-", "+1", ".5", "1.", "01", "1e", "1e+", "0x1", "1 2", "[1,]", "[,1]",
            "[1 2]",
            "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\":1 \"b\":2}", "// x\n1", "1 // x",
            "/* x */ 1",
            "\u{FEFF}1", "\"a\"\"b\"", "\"a\" b", "\u{A0}1", "\u{2028}1",
        ])
    func invalidJSONIsRejectedWithItsOffset(_ text: String) {
        do throws(JSONParser.Fault) {
            _ = try parse(text)
            Issue.record("the text is accepted")
        } catch {
            guard case .malformed(let offset) = error else {
                Issue.record("\(error)")
                return
            }
            #expect((0...text.utf8.count).contains(offset))
        }
    }

    @Test(
        "Invalid UTF-8 is rejected",
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x22, 0xC3, 0x22],
            [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], [0xFF, 0xFE, 0x22, 0x00], [0x22, 0x00, 0x22],
        ] as [[UInt8]])
    func invalidUTF8IsRejected(_ bytes: [UInt8]) {
        #expect(throws: JSONParser.Fault.self) { try parse(bytes) }
    }

    @Test(
        "A lone surrogate is rejected",
        arguments: [
            "\"\\uD800\"", "\"\\uDC00\"", "\"\\uD800x\"", "\"\\uD800\\n\"", "\"\\uD800\\uD800\"", "\"\\uD800\\u0041\"",
            "{\"\\uDFFF\":1}",
        ])
    func aLoneSurrogateIsRejected(_ text: String) {
        do throws(JSONParser.Fault) {
            _ = try parse(text)
            Issue.record("the text is accepted")
        } catch {
            guard case .loneSurrogate = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test(
        "A duplicate member name is rejected in any case",
        arguments: [
            "{\"a\":1,\"a\":1}", "{\"Tags\":1,\"tags\":2}", "{\"a\":1,\"b\":{},\"\\u0061\":2}", "{\"é\":1,\"É\":2}",
            "{\"\":1,\"\":2}",
            "[{\"x\":{\"a\":1,\"A\":1}}]",
        ])
    func aDuplicateMemberNameIsRejectedInAnyCase(_ text: String) {
        do throws(JSONParser.Fault) {
            _ = try parse(text)
            Issue.record("the text is accepted")
        } catch {
            guard case .duplicateName = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("The nesting depth is bounded") func theNestingDepthIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        func objects(_ depth: Int) -> String {
            String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
        }
        _ = try parse(nested(8))
        _ = try parse(objects(8))
        #expect(throws: JSONParser.Fault.tooLarge) { try parse(nested(9)) }
        #expect(throws: JSONParser.Fault.tooLarge) { try parse(objects(9)) }
        #expect(throws: JSONParser.Fault.tooLarge) { try parse(String(repeating: "[", count: 1_000_000)) }
        #expect(throws: JSONParser.Fault.tooLarge) { try parse("[]", JSONParser(depthLimit: 0)) }
    }

    @Test("The number of values is bounded") func theNumberOfValuesIsBounded() throws {
        func list(_ count: Int) -> String { "[" + Array(repeating: "1", count: count).joined(separator: ",") + "]" }
        func object(_ count: Int) -> String {
            "{" + (0..<count).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
        }
        _ = try parse(list(64))
        _ = try parse(object(64))
        _ = try parse("[\(list(31)),\(list(31))]")
        #expect(throws: JSONParser.Fault.tooLarge) { try parse(list(65)) }
        #expect(throws: JSONParser.Fault.tooLarge) { try parse(object(65)) }
        #expect(throws: JSONParser.Fault.tooLarge) { try parse("[\(list(31)),\(list(32))]") }
    }

    @Test("The writer uses the shortest escapes") func theWriterUsesTheShortestEscapes() {
        let text = "\"\\/\u{0}\u{1F}\u{8}\t\n\u{C}\r\u{7F}é😀"
        var bytes: [UInt8] = []
        JSONWriter.write(string: text, to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "\"\\\"\\\\/\\u0000\\u001f\\b\\t\\n\\f\\r\\u007fé😀\"")
        let value = JSONValue.object([.init("a\"", .array([.null, .bool(false), .number("1e3"), .string("")]))])
        #expect(JSONWriter.bytes(of: value) == Array("{\"a\\\"\":[null,false,1e3,\"\"]}".utf8))
    }

    @Test("Parsing is the inverse of writing") func parsingIsTheInverseOfWriting() throws {
        var random = SplitMix(seed: 4)
        let parser = JSONParser(depthLimit: 8, memberLimit: 10_000)
        for _ in 0..<3000 {
            let value = Self.value(depth: 0, &random)
            #expect(try parser.parse(JSONWriter.bytes(of: value).span) == value)
        }
    }

    /// Each input gives a value or a fault. An accepted value stays the same when it is written and parsed again.
    @Test("Random bytes do not trap") func randomBytesDoNotTrap() throws {
        var random = SplitMix(seed: 5)
        let alphabet = Array("{}[]\",:\\u0d8fe1.-+ tnrasl\u{0}é".utf8) + [0xFF, 0xC3]
        for _ in 0..<30_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in alphabet.randomElement(using: &random)!
            }
            if let value = try? parse(bytes) { #expect(try parse(JSONWriter.bytes(of: value)) == value) }
        }
    }

    private static func value(depth: Int, _ random: inout SplitMix) -> JSONValue {
        switch Int.random(in: 0..<(depth > 4 ? 4 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(.random(using: &random))
        case 2: return .number("-\(Int.random(in: 0...99_999, using: &random)).5E-3")
        case 3: return .string(random.text(0...10))
        case 4: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth + 1, &random) })
        default:
            return .object(
                (0..<Int.random(in: 0...4, using: &random)).map { index in
                    .init("\(index)\(random.text(0...5))", value(depth: depth + 1, &random))
                })
        }
    }
}
