import Testing

@testable import GatewaySupport

@Suite("Spelling suggestions and duplicate names")
struct SpellingSuggestionTests {
    private let known = ["listen", "limits", "ledger", "journal", "backend", "policy", "rate", "url"]

    @Test(
        "The nearest name is suggested, and none if no name is near",
        arguments: [
            ("lissen", "listen"), ("limit", "limits"), ("jounral", "journal"), ("polcy", "policy"), ("ulr", "url"),
            ("colour", nil), ("x", nil), ("journaling-keys", nil),
        ] as [(String, String?)])
    func nearest(word: String, meant: String?) {
        #expect(SpellingSuggestion.nearest(to: word, among: known) == meant)
    }

    @Test(
        "A duplicate name is reported with its location",
        arguments: [
            ("a: 1\nb: 2\n# a: 3\n\na: 4\n", 5, 1), ("x:\n  a: 1\n  b:\n    a: 2\n  a: 3\n", 5, 3),
            ("x: { a: 1, b: { c: 2 }, \"a\": 3 }\n", 1, 25), ("- { n: 1 }\n- { k: 1, k: 2 }\n", 2, 11),
        ])
    func duplicates(text: String, line: Int, column: Int) {
        do {
            _ = try YAMLDocument.parse(text, file: "f.yaml")
            Issue.record("the document is accepted")
        } catch {
            #expect("\(error)".hasPrefix("f.yaml:\(line):\(column): duplicate name"), "\(error)")
        }
    }
}
