import GatewaySupport
import Testing

@Suite struct YAMLDocumentTests {
    private func problem(_ text: String) -> String? {
        do throws(ConfigurationProblem) {
            _ = try YAMLDocument.parse(text, file: "f.yaml")
            return nil
        } catch {
            return error.description
        }
    }

    @Test("Every value has its location") func everyValueHasItsLocation() throws {
        let root = try YAMLDocument.parse("a: 1\nb:\n  - x\n  - { c: d }\n", file: "f.yaml")
        guard case .mapping(let entries) = root.shape, entries.count == 2,
            case .sequence(let items) = entries[1].value.shape,
            case .mapping(let inner) = items[1].shape
        else {
            Issue.record("the document has an unexpected shape")
            return
        }
        #expect(entries[0].location.description == "f.yaml:1:1")
        #expect(entries[0].value.location.description == "f.yaml:1:4")
        #expect(items[0].location.description == "f.yaml:3:5")
        #expect(inner[0].value.location.description == "f.yaml:4:10")
    }

    @Test("Quoted text is never null") func quotedTextIsNeverNull() throws {
        func isNull(_ text: String) throws -> Bool { try YAMLDocument.parse(text, file: "f").isNull }
        for text in ["", "~", "null", "Null", "NULL"] { #expect(try isNull(text)) }
        for text in ["\"\"", "'null'", "\"~\"", "nULL", "0", "[]", "{}"] { #expect(try !isNull(text)) }
    }

    @Test(
        "A duplicate name is rejected",
        arguments: [
            "a: 1\nb: 2\na: 3\n", "x:\n  a: 1\n  a: 2\n", "{a: 1, a: 2}", "a: 1\n\"a\": 2\n", "1: x\n\"1\": y\n",
            "true: x\n\"true\": y\n",
        ])
    func aDuplicateNameIsRejected(_ text: String) throws {
        let said = try #require(problem(text))
        #expect(said.hasPrefix("f.yaml:"))
        #expect(said.contains("duplicate name"))
    }

    @Test(
        "Invalid YAML is reported with its location",
        arguments: [
            ("a: [1\nb: 2", "f.yaml:2:"), ("a: 1\n\tb: 2", "f.yaml:2:"), ("a: 'x", "f.yaml:1:"),
            ("a: *nobody", "f.yaml:1:"),
            ("a: %x", "f.yaml:1:"), ("a: 1\n b: 2", "f.yaml:2:"), ("- 1\nb: 2", "f.yaml:2:"),
            ("a: 1\n---\nb: 2", "f.yaml:"),
            ("? [a]\n: 1", "f.yaml:1:"), ("? {a: 1}\n: 1", "f.yaml:1:"), ("a: \u{0}", "f.yaml:"),
            ("a: \u{1}", "f.yaml:"),
        ])
    func invalidYAMLIsReportedWithItsLocation(_ text: String, _ place: String) throws {
        #expect(try #require(problem(text)).hasPrefix(place), "\(problem(text) ?? "-")")
    }

    @Test("The nesting depth is bounded") func theNestingDepthIsBounded() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(problem(nested(31)) == nil)
        #expect(try #require(problem(nested(40))).contains("nested too deeply"))
        for depth in [1000, 20_000, 200_000] {
            #expect(problem(nested(depth)) != nil)
            #expect(problem(String(repeating: "- ", count: depth) + "x") != nil)
            #expect(problem(String(repeating: "{a: ", count: depth)) != nil)
        }
    }

    /// Nine lists of nine aliases each make 4 × 10⁸ values out of 300 bytes.
    @Test("Nested aliases cannot exhaust the memory") func nestedAliasesCannotExhaustTheMemory() throws {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        for level in 1...8 {
            let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(aliases)]\n"
        }
        #expect(try #require(problem(text)).contains("has too many values"))
    }

    @Test("The length of a file is bounded") func theLengthOfAFileIsBounded() throws {
        #expect(
            try #require(problem(String(repeating: "#", count: YAMLDocument.maximumLength + 1))).contains("longer than")
        )
    }
}
