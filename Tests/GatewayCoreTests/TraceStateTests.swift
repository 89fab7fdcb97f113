import GatewayCore
import Testing

@Suite struct TraceStateTests {
    @Test(
        "A valid list is normalized",
        arguments: [
            ("rojo=00f067aa0ba902b7", "rojo=00f067aa0ba902b7"),
            ("rojo=1,congo=t61rcWkgMzE", "rojo=1,congo=t61rcWkgMzE"),
            // White space around members and empty members are removed. White space within a value stays.
            (" \trojo=1\t , ,congo= 2 3 ,,", "rojo=1,congo= 2 3"),
            ("t61/tenant_1-*@sys=v:/;!~", "t61/tenant_1-*@sys=v:/;!~"), ("0@a=1", "0@a=1"), ("a0_-*/=1", "a0_-*/=1"),
            ("\(String(repeating: "k", count: 241))@\(String(repeating: "s", count: 14))=1", nil),
            ("k=\(String(repeating: "v", count: 256))", nil),
            ("\(String(repeating: "k", count: 256))=\(String(repeating: "v", count: 255))", nil),
        ])
    func aValidListIsNormalized(_ text: String, _ expected: String?) {
        #expect(TraceState(text.utf8)?.text == expected ?? text)
    }

    @Test("A list has at most 32 members") func aListHasAtMost32Members() {
        let members = (0..<33).map { "k\($0)=v" }
        #expect(TraceState(members.prefix(32).joined(separator: ",").utf8) != nil)
        #expect(TraceState(members.joined(separator: ",").utf8) == nil)
    }

    @Test("A list has at most 512 bytes") func aListHasAtMost512Bytes() {
        let first = "a=\(String(repeating: "v", count: 253))"
        let fits = "\(first),b=\(String(repeating: "v", count: 254))"
        #expect(fits.utf8.count == 512)
        #expect(TraceState(fits.utf8)?.text == fits)
        // Removed characters do not count.
        #expect(TraceState(fits.replacing(",", with: " ,,  ").utf8)?.text == fits)
        #expect(TraceState("\(fits)v".utf8) == nil)
        #expect(TraceState("\(String(repeating: "k", count: 256))=\(String(repeating: "v", count: 256))".utf8) == nil)
    }

    @Test(
        "An invalid list is dropped as a whole",
        arguments: [
            "", " , ,", "rojo", "=1", "rojo=", "rojo= ", "rojo=1,congo", "rojo=1,rojo=2", "Rojo=1", "1rojo=1", "@a=1",
            "a@=1", "a@B=1", "a@1=1", "a@b@c=1", "ro jo=1", "rojo=1=2", "rojo=\u{7F}", "rojo=\u{0}1", "rojo=é",
            "rojo=1\r\nx: y",
            "rojo=1\tcongo=2", "rö=1", "_a=1",
        ])
    func anInvalidListIsDroppedAsAWhole(_ text: String) {
        #expect(TraceState(text.utf8) == nil)
    }

    @Test("A key or value that is too long makes the list invalid") func aKeyOrValueThatIsTooLongMakesTheListInvalid() {
        for text in [
            "\(String(repeating: "k", count: 257))=1", "\(String(repeating: "k", count: 242))@s=1",
            "t@\(String(repeating: "s", count: 15))=1", "k=\(String(repeating: "v", count: 257))",
        ] { #expect(TraceState(text.utf8) == nil) }
    }
}
