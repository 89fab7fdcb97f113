import Testing

@testable import PostgreSQLClient

@Suite struct PlaceholderTests {
    @Test(arguments: [
        ("SELECT ?, ?", "SELECT $1, $2", 2),
        ("SELECT '?', ?", "SELECT '?', $1", 1),
        ("SELECT 'it''s ?', ?", "SELECT 'it''s ?', $1", 1),
        ("SELECT 'a\\', ?", "SELECT 'a\\', $1", 1),
        ("SELECT E'a\\'?', ?", "SELECT E'a\\'?', $1", 1),
        ("SELECT e'a''?', ?", "SELECT e'a''?', $1", 1),
        ("SELECT name'a\\', ?", "SELECT name'a\\', $1", 1),
        ("SELECT \"a?\"\"?\" FROM b WHERE c = ?", "SELECT \"a?\"\"?\" FROM b WHERE c = $1", 1),
        ("SELECT $$?$$, $t$ ? $$ ? $t$, ?", "SELECT $$?$$, $t$ ? $$ ? $t$, $1", 1),
        ("SELECT a$b$, ?", "SELECT a$b$, $1", 1),
        ("SELECT 1 -- ?\n, ?", "SELECT 1 -- ?\n, $1", 1),
        ("SELECT /* ? /* ? */ ? */ ?", "SELECT /* ? /* ? */ ? */ $1", 1),
        ("SELECT 5 - ? / ?", "SELECT 5 - $1 / $2", 2),
        ("SELECT 'ü?', ?", "SELECT 'ü?', $1", 1),
        ("'open ?", "'open ?", 0), ("$a$ open ?", "$a$ open ?", 0), ("/* open ?", "/* open ?", 0), ("E'\\", "E'\\", 0),
        ("", "", 0),
    ])
    func `Placeholders outside of quotes are numbered`(sql: String, text: String, count: Int) throws {
        let translated = try TranslatedStatement(sql)
        #expect(translated.text == text)
        #expect(translated.placeholders == count)
    }

    @Test func `A NUL character is an error`() {
        #expect(throws: PostgreSQLError.self) { try TranslatedStatement("SELECT 1\0, ?") }
    }

    @Test func `COPY escapes what separates values and rows`() throws {
        var text = CopyText()
        try text.append([.text("a\tb\nc\rd\\e"), .null, .text(""), .text("\\N"), .integer(-5), .bytes([0, 255])])
        try text.append([.text("\\.")])
        #expect(
            String(decoding: text.bytes, as: UTF8.self)
                == "a\\tb\\nc\\rd\\\\e\t\\N\t\t\\\\N\t-5\t\\\\x00ff\n\\\\.\n")
        #expect(throws: PostgreSQLError.self) { try text.append([.text("\0")]) }
    }

    @Test(arguments: [
        ConnectionCase(
            "to server: FATAL:  28P01: wrong password\nLOCATION:  auth_failed, auth.c:1\n", "28P01", .rejected),
        ConnectionCase("FATAL:  3D000: database \"x\" does not exist\n", "3D000", .rejected),
        ConnectionCase("FATAL:  57P03: the database system is starting up\n", "57P03", .unavailable),
        ConnectionCase("FATAL:  53300: sorry, too many clients already\n", "53300", .unavailable),
        ConnectionCase("could not connect: Connection refused\n\tIs the server running?\n", nil, .unavailable),
        ConnectionCase("SSL error: certificate verify failed\n", nil, .rejected),
        ConnectionCase("", nil, .unavailable),
    ])
    func `Failures to connect have a kind`(example: ConnectionCase) {
        let error = ConnectionFailure(example.text).error(of: "server")
        #expect(error.sqlState == example.sqlState)
        #expect(error.kind == example.kind)
        #expect(!error.message.contains("\n") && !error.message.contains("LOCATION"))
    }
}

/// A text of libpq about a failed connection, and what it means.
struct ConnectionCase {
    let text: String
    let sqlState: String?
    let kind: PostgreSQLError.Kind

    init(_ text: String, _ sqlState: String?, _ kind: PostgreSQLError.Kind) {
        self.text = text
        self.sqlState = sqlState
        self.kind = kind
    }
}
