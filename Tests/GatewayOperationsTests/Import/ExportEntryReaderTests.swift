import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayOperations

@Suite("Lines of an export") struct ExportEntryReaderTests {
    private func read(_ line: String) throws(ExportEntry.Fault) -> ExportEntry {
        try ExportEntryReader.read(Array(line.utf8))
    }

    @Test(
        "The reader parses an entry of each kind",
        arguments: [
            ("AppleRegistrationDescription", "DeviceToken"), ("GcmRegistrationDescription", "GcmRegistrationId"),
            ("FcmV1RegistrationDescription", "FcmV1RegistrationId"), ("WindowsRegistrationDescription", "ChannelUri"),
            ("MpnsRegistrationDescription", "ChannelUri"),
        ])
    func kinds(kind: String, element: String) throws {
        let line = ExportLine.entry(kind, "1-2-3", "<\(element)> a&amp;b </\(element)>", tags: "x, username:alice,")
        let entry = try read(line)
        #expect(
            entry == ExportEntry(kind: kind, registrationID: "1-2-3", handle: "a&b", tags: ["x", "username:alice"]))
        // The variants: an XML declaration, a byte order mark, no surrounding entry, and namespace prefixes.
        #expect(try read("<?xml version=\"1.0\" encoding=\"utf-16\"?>" + line) == entry)
        #expect(try read("\u{FEFF}<?xml version=\"1.0\"?>" + line) == entry)
        let bare = try #require(line.firstRange(of: "<\(kind)").map { String(line[$0.lowerBound...]) })
        #expect(try read(bare.replacing("</content></entry>", with: "")) == entry)
        let prefixed =
            "<a:\(kind) xmlns:a=\"u:x\"><a:RegistrationId>1-2-3</a:RegistrationId><a:\(element)>a&#38;b</a:\(element)>"
            + "<a:Tags><![CDATA[x,username:alice]]></a:Tags></a:\(kind)>"
        #expect(try read(prefixed) == entry)
    }

    @Test("The reader ignores elements outside the description")
    func elsewhere() throws {
        let line =
            "<entry><RegistrationId>9-9-9</RegistrationId><Tags>from:x</Tags><content><AppleRegistrationDescription>"
            + "<Extra><Tags>from:y</Tags></Extra><RegistrationId>1-2-3</RegistrationId><DeviceToken>AB</DeviceToken>"
            + "</AppleRegistrationDescription></content></entry>"
        #expect(
            try read(line)
                == ExportEntry(kind: "AppleRegistrationDescription", registrationID: "1-2-3", handle: "AB", tags: []))
    }

    private static let description = "<AppleRegistrationDescription><RegistrationId>1-2-3</RegistrationId>"

    @Test(
        "The reader rejects a hostile line and neither expands entities nor fetches a document",
        arguments: [
            (
                "<!DOCTYPE a [<!ENTITY x \"\(String(repeating: "y", count: 100))\">]><a>&x;</a>",
                ExportEntry.Fault.declarations
            ),
            ("<!doctype a SYSTEM \"file:///etc/passwd\"><a/>", .declarations),
            ("<?xml version=\"1.0\"?><?xml-stylesheet href=\"http://127.0.0.1:9/\"?><a/>", .declarations),
            ("\(description)<Tags>&undefined;</Tags></AppleRegistrationDescription>", .notXML),
            ("\(description)<Tags>a</Tags><Tags>b</Tags></AppleRegistrationDescription>", .notXML),
            (
                "<e>\(description)</AppleRegistrationDescription>\(description)</AppleRegistrationDescription></e>",
                .notXML
            ),
            (String(repeating: "<a>", count: 2000), .notXML), (String(repeating: "<a>", count: 30000), .tooLong),
            ("\(description)", .notXML), ("", .notXML), ("<", .notXML), ("<a/>", .notARegistration),
            (
                "<AppleRegistrationDescription><DeviceToken>AB</DeviceToken></AppleRegistrationDescription>",
                .notARegistration
            ),
            ("{\"json\":1}", .notXML), ("<a>\u{0}</a>", .notUTF8), ("<?xml version=\"1.0\"", .declarations),
        ])
    func hostile(line: String, fault: ExportEntry.Fault) {
        #expect(throws: fault) { try read(line) }
    }

    @Test("The reader rejects invalid UTF-8, whatever encoding the line declares")
    func encodings() {
        let utf16 = Array("<?xml version=\"1.0\" encoding=\"utf-16\"?><a/>".utf16).flatMap {
            [UInt8($0 & 0xFF), UInt8($0 >> 8)]
        }
        #expect(throws: ExportEntry.Fault.notUTF8) { try ExportEntryReader.read([0xFF, 0xFE] + utf16) }
        #expect(throws: ExportEntry.Fault.notUTF8) { try ExportEntryReader.read(Array("<a>".utf8) + [0xE9]) }
    }

    @Test("The reader parses or rejects a mutated line and does not trap")
    func mutations() {
        var random = SplitMix(seed: 4)
        let line = Array(ExportLine.apple("1-2-3", "AB", tags: "username:alice,x").utf8)
        for _ in 0..<TestRun.count(full: 20_000, otherwise: 1000) {
            var bytes = line
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(contentsOf: bytes[place..<min(place + 9, bytes.endIndex)], at: place)
                }
            }
            if let entry = try? ExportEntryReader.read(bytes) {
                #expect(entry.kind.hasSuffix("RegistrationDescription"))
            }
        }
    }
}
