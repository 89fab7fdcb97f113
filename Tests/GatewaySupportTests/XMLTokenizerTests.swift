import Testing

@testable import GatewaySupport

@Suite struct XMLTokenizerTests {
    private func tokens(_ text: String) throws -> [XMLTokenizer.Token] {
        var tokenizer = XMLTokenizer(text.utf8)
        var tokens: [XMLTokenizer.Token] = []
        while let token = try tokenizer.next() { tokens.append(token) }
        return tokens
    }

    @Test("Elements, attributes, text, entities and CDATA are read")
    func wellFormed() throws {
        #expect(
            try tokens(
                "\u{FEFF}<?xml version=\"1.0\"?>\n<!-- c --><a x='1' y=\"&lt;&#65;\"><b/>t&amp;&#x1F600;<![CDATA[<x>&]]></a>\n"
            ) == [
                .start(name: "a", attributes: ["x": "1", "y": "<A"]), .start(name: "b", attributes: [:]),
                .end(name: "b"), .text("t&😀"), .text("<x>&"), .end(name: "a"),
            ])
    }

    @Test(
        "Documents that are not well-formed, or have what attacks use, are rejected",
        arguments: [
            "", "text", "<a>", "<a></b>", "<a/><b/>", "<a/>text", "</a>", "<a x=1/>", "<a x='1' x='2'/>", "<a x='<'/>",
            "<a x='1'y='2'/>", "<a>&unknown;</a>", "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>& </a>", "<a>&amp</a>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "<!DOCTYPE a><a/>", "<a><?php x?></a>", "<a><!-- </a>",
            "<a><![CDATA[x</a>", "<![CDATA[x]]><a/>", "<1a/>", "<a", "<a x", "<a x=", "<a x='", "<é/>",
            "<a><?xml version='1.0'?></a>", "<a>&#+65;</a>",
        ])
    func rejected(_ text: String) { #expect(throws: XMLTokenizer.Malformed.self) { try tokens(text) } }

    @Test("Invalid UTF-8 is rejected")
    func encoding() {
        var tokenizer = XMLTokenizer(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8))
        #expect(throws: XMLTokenizer.Malformed.self) { while try tokenizer.next() != nil {} }
    }

    @Test("The depth of elements is bounded")
    func depth() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(try tokens(nested(XMLTokenizer.maximumDepth)).count == 2 * XMLTokenizer.maximumDepth)
        #expect(throws: XMLTokenizer.Malformed.self) { try tokens(nested(XMLTokenizer.maximumDepth + 1)) }
    }

    @Test("Random bytes never trap")
    func randomBytes() {
        var random = SystemRandomNumberGenerator()
        let alphabet = Array("<>/=!?-[]CDAT&;#x1'\" ab".utf8)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0..<60, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            var tokenizer = XMLTokenizer(bytes)
            while let token = try? tokenizer.next() { _ = token }
        }
    }
}
