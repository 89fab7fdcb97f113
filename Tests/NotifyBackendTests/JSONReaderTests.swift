import Foundation
import Testing

@testable import NotifyBackend

@Suite struct JSONReaderTests {
    private func lenient(_ text: String) -> JSONValue? { try? JSONReader.read(Array(text.utf8), .lenient) }
    private func strict(_ text: String) -> JSONValue? { try? JSONReader.read(Array(text.utf8), .strict) }

    @Test(
        "Both dialects read valid JSON",
        arguments: [
            ("\"a\"", JSONValue.string("a")),
            (" [1, -2.5e+3, true, null] ", .array([.number("1"), .number("-2.5e+3"), .bool(true), .null])),
            ("{}", .object([])), ("[]", .array([])), ("\"\\u00e9\\ud83d\\ude00\\n\\/\"", .string("é😀\n/")),
            ("{\"a\":{\"b\":[]}}", .object([.init(name: "a", value: .object([.init(name: "b", value: .array([]))]))])),
            ("\u{FEFF}\"bom\"", .string("bom")),
        ])
    func bothDialectsReadValidJSON(_ text: String, _ value: JSONValue) {
        #expect(lenient(text) == value)
        #expect(strict(text) == value)
    }

    @Test(
        "Only the lenient dialect reads extended JSON",
        arguments: [
            ("\"say \"hi\" now\"", JSONValue.string("say ")), ("'single'", .string("single")),
            ("/* c */ \"a\" // d", .string("a")), ("[1,2,]", .array([.number("1"), .number("2")])),
            ("{a:1,'b':2,}", .object([.init(name: "a", value: .number("1")), .init(name: "b", value: .number("2"))])),
            ("\"a\nb\"", .string("a\nb")), ("\"\\ud800x\"", .string("\u{FFFD}x")), ("\"\\'\"", .string("'")),
            ("\"\\ud800\\u0041\"", .string("\u{FFFD}A")), ("// only\n5", .number("5")),
        ])
    func onlyTheLenientDialectReadsExtendedJSON(_ text: String, _ value: JSONValue) {
        #expect(lenient(text) == value)
        #expect(strict(text) == nil)
    }

    @Test(
        "Neither dialect reads malformed JSON",
        arguments: [
            "", " ", "hello", "\"C:\\x\"", "\"open", "\"\\u12\"", "\"\\u+123\"", "{", "[", "[1", "{\"a\"}", "{\"a\":}",
            "[,]",
            "truex", "-", "/", "/* open", "\"\\", "{:1}", "[1 2]", "1-2", "\0",
        ])
    func neitherReads(_ text: String) {
        #expect(lenient(text) == nil)
        #expect(strict(text) == nil)
    }

    @Test(
        "The strict dialect rejects malformed numbers",
        arguments: ["01", "1.", ".5", "+1", "1e", "0x1", "NaN", "--1", "1e+"])
    func strictNumbers(_ text: String) {
        #expect(strict(text) == nil)
    }

    @Test("Invalid UTF-8 is rejected") func invalidUTF8IsRejected() {
        for dialect in [JSONDialect.lenient, .strict] {
            #expect(throws: JSONError.self) { try JSONReader.read([0x22, 0x63, 0xE9, 0x22], dialect) }
        }
    }

    @Test("Deep nesting does not overflow the stack") func deepNestingDoesNotOverflowTheStack() {
        for open in ["[", "{\"a\":", "[[{\"a\":"] {
            #expect(lenient(String(repeating: open, count: 100_000)) == nil)
            #expect(strict(String(repeating: open, count: 100_000)) == nil)
        }
        let allowed = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(strict(allowed) != nil)
        #expect(strict("[" + allowed + "]") == nil)
    }

    /// The test reads every prefix and every one-byte change of a document.
    @Test("A damaged document does not trap") func survivesDamage() {
        let document = Array("{\"Platform\":\"gcm\",'Tags':[\"a\\u00e9\",/**/-1.5e3,null]}//x".utf8)
        for dialect in [JSONDialect.lenient, .strict] {
            for end in document.indices {
                _ = try? JSONReader.read(Array(document[..<end]), dialect)
                for byte in [0x00, 0x22, 0x27, 0x2F, 0x5C, 0x7B, 0x80, 0xFF] as [UInt8] {
                    var damaged = document
                    damaged[end] = byte
                    _ = try? JSONReader.read(damaged, dialect)
                }
            }
        }
        #expect((try? JSONReader.read(document, .lenient)) != nil)
    }
}
