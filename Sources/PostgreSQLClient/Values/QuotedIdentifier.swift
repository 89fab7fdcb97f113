/// A name as SQL has it between double quotes.
struct QuotedIdentifier {
    let text: String

    init(_ name: String) { text = "\"\(name.replacing("\"", with: "\"\""))\"" }
}
