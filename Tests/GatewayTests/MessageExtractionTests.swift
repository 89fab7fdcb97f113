import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite struct MessageExtractionTests {
    private func read(_ body: [UInt8], _ reading: MessageExtraction = .auto) -> Result<String, Rejection> {
        do throws(Rejection) { return .success(try reading.text(of: ByteBuffer(bytes: body))) } catch {
            return .failure(error)
        }
    }

    private func text(_ body: String, _ reading: MessageExtraction = .auto) -> String? {
        try? read(Array(body.utf8), reading).get()
    }

    @Test(
        "A message body gives the text that the user typed",
        arguments: [
            ("\"hi\"", "hi"), ("\"\"", ""), (" \t\r\n\"hi\"\n", "hi"), ("\u{FEFF}\"hi\"", "hi"),
            ("\"He said \"hi\" \u{2013} café\"", "He said \"hi\" – café"),
            ("\"say \\\"hi\\\"\"", "say \"hi\""), ("\"C:\\windows & <b>\"", "C:\\windows & <b>"),
            ("\"C:\\new\"", "C:\new"),
            ("\"\"quoted\"\"", "\"quoted\""), ("\" blanks inside \"", " blanks inside "), ("\"\\u00e9\"", "é"),
            ("\"\\\"", "\\"),
            ("\"a\nb\"", "a\nb"), ("\"{\\\"a\\\":1}\"", "{\"a\":1}"), ("\"a\",\"b\"", "a\",\"b"), ("\"\"\"", "\""),
            ("\"\u{0}\"", "\u{0}"),
            ("\"😀\"", "😀"), ("\"\\ud83d\\ude00\"", "😀"),
        ])
    func auto(_ body: String, _ expected: String) {
        #expect(text(body) == expected)
    }

    @Test(
        "Literal extraction keeps escape sequences as text",
        arguments: [
            ("\"hi\"", "hi"), ("\"say \\\"hi\\\"\"", "say \\\"hi\\\""), ("\"C:\\new\"", "C:\\new"),
            ("\"\\u00e9\"", "\\u00e9"),
            (" \"x\" ", "x"), ("\"a\" \"b\"", "a\" \"b"),
        ])
    func literal(_ body: String, _ expected: String) {
        #expect(text(body, .literal) == expected)
    }

    @Test(
        "A body without a quoted string is rejected",
        arguments: ["", "\"", "x", "\"x", "x\"", "{}", "1", "\u{FEFF}", "“hi”"])
    func bodiesWithoutAStringAreRejected(_ body: String) {
        for reading in MessageExtraction.allCases {
            guard case .failure(let rejection) = read(Array(body.utf8), reading) else {
                Issue.record("accepted with \(reading)")
                continue
            }
            #expect(rejection.code == .malformedMessage)
        }
    }

    @Test("A body that is not valid UTF-8 is read as ISO-8859-1") func latin1() throws {
        #expect(try read([0x22, 0x63, 0x61, 0x66, 0xE9, 0x22]).get() == "café")
        #expect(try read([0x22, 0xFF, 0xFE, 0x22]).get() == "ÿþ")
        #expect(try read([0x22, 0x80, 0x9F, 0x22]).get() == "\u{80}\u{9F}")
        // Valid UTF-8 is read as UTF-8.
        #expect(try read([0x22, 0xC3, 0xA9, 0x22]).get() == "é")
        // A byte order mark before invalid UTF-8 is dropped, and the rest is read as ISO-8859-1.
        #expect(try read([0xEF, 0xBB, 0xBF, 0x22, 0xE9, 0x22]).get() == "é")
    }

    /// The body is escaped for the readings that decode, and unescaped for the literal reading.
    @Test("Any typed text is extracted unchanged") func anyTypedTextIsExtractedUnchanged() {
        var random = SplitMix(seed: 6)
        for _ in 0..<3000 {
            let typed = random.text(upTo: 24)
            var escaped: [UInt8] = []
            JSONWriter.write(string: typed, to: &escaped)
            #expect((try? read(escaped).get()).map { Array($0.utf8) } == Array(typed.utf8))
            #expect((try? read(Array("\"\(typed)\"".utf8), .literal).get()).map { Array($0.utf8) } == Array(typed.utf8))
        }
    }

    @Test("Any bytes give either a text or a rejection") func anyBytesGiveEitherATextOrARejection() {
        var random = SplitMix(seed: 7)
        for _ in 0..<10_000 {
            var bytes = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes = [0x22] + bytes + [0x22] }
            for reading in MessageExtraction.allCases {
                if case .failure(let rejection) = read(bytes, reading) { #expect(rejection.code == .malformedMessage) }
            }
        }
    }
}
