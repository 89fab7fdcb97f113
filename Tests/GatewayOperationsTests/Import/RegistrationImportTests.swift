import Foundation
import GatewayCore
import GatewayStore
import Testing

@testable import GatewayOperations

@Suite("Validation of an export") struct RegistrationImportTests {
    private let validator = ExportValidator(names: NameRules(suffixes: ["@example.com"]), handles: HandleRules())

    private func judged(_ lines: [String]) -> [RegistrationImport.Line] {
        RegistrationImport(Data(lines.joined(separator: "\n").utf8), validator: validator).lines
    }

    private static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    @Test(
        "The tags determine the owner of a registration or the reason why it is invalid",
        arguments: [
            ("username:alice", nil), ("topic:x,username:alice", nil), ("username:alice,username:alice", nil),
            ("username:alice,from:bob", "from-tag"), ("FROM:alice,username:alice", "from-tag"),
            ("username:alice,username:bob", "several-users"), ("username:alice,Username:bob", "several-users"),
            ("username:alice,USERNAME:alice", "several-users"), ("", "no-user"), ("topic:x", "no-user"),
            ("username:Alice", "user-spelling"), ("Username:alice", "user-spelling"),
            ("username:alice@example.com", "user-spelling"), ("username:", "user-spelling"),
            ("username:älice", "user-spelling"), ("username:a|b", "user-spelling"),
            ("username:alice,$UserId:{bob}", "system-tag"), ("username:alice,a b", "tag-unusable"),
        ] as [(String, String?)])
    func tags(tags: String, reason: String?) throws {
        let line = try #require(judged([ExportLine.apple("1-2-3", Self.token(1), tags: tags)]).first)
        #expect(line.reason == reason)
        if reason == nil { #expect(line.assessment == .valid(try #require(UserName(canonical: "alice")))) }
        // The gateway can delete each of these registrations.
        #expect(line.entry?.id.text == "1-2-3")
    }

    /// The tag of a registration that the gateway itself has made.
    @Test("With escaping, the tag of a canonical name belongs to its user and no other spelling to anybody")
    func escapedNames() throws {
        let validator = ExportValidator(names: NameRules(escaping: .hex), handles: HandleRules())
        for (name, isCanonical) in [
            ("zo_xc3_xab", true), ("max_x5fxavier", true), ("max_xavier", false), ("zo_xC3_xAB", false),
            ("a_x41", false),
        ] {
            let line = try #require(
                RegistrationImport(
                    Data(ExportLine.apple("1-2-3", Self.token(1), tags: "username:\(name)").utf8), validator: validator
                ).lines.first)
            #expect(line.reason == (isCanonical ? nil : "user-spelling"), "\(name)")
            if isCanonical { #expect(line.assessment == .valid(try #require(UserName(canonical: name)))) }
        }
    }

    @Test("Several registrations of a device handle are all invalid, and a repeated line is ignored")
    func severalOfAHandle() {
        let token = String(repeating: "ab", count: 32)
        let lines = judged([
            ExportLine.apple("1-1-1", token, tags: "username:alice"),
            ExportLine.apple("2-2-2", token.uppercased(), tags: "username:alice"),
            ExportLine.apple("3-3-3", Self.token(3), tags: "username:alice"),
            ExportLine.apple("3-3-3", Self.token(3), tags: "username:alice"),
            ExportLine.apple("4-4-4", token, tags: "username:alice,from:bob"),
        ])
        #expect(lines.map(\.reason) == ["several-of-handle", "several-of-handle", nil, nil, "from-tag"])
    }

    @Test("The import skips a registration that the gateway cannot or should not delete")
    func skipped() {
        let token = "<DeviceToken>\(Self.token(1))</DeviceToken>"
        let lines = judged([
            ExportLine.entry("AppleRegistrationDescription", "..", token, tags: "username:alice"),
            ExportLine.entry("AppleTemplateRegistrationDescription", "1-2-3", token, tags: "from:alice"),
            ExportLine.entry(
                "AdmRegistrationDescription", "1-2-4", "<AdmRegistrationId>x</AdmRegistrationId>", tags: ""),
            "no xml", "",
            ExportLine.entry(
                "AppleRegistrationDescription", "1-2-5", "<DeviceToken>odd</DeviceToken>", tags: "username:alice"),
        ])
        #expect(lines.map(\.reason) == ["id-unusable", "other-kind", "other-kind", "not-xml", "handle-unusable"])
        #expect(lines.map { $0.entry?.id.text } == [nil, nil, nil, nil, "1-2-5"])
        #expect(lines.map(\.number) == [1, 2, 3, 4, 6])
    }

    @Test("The import accepts both kinds of line ends")
    func lineEnds() {
        let text = ExportLine.apple("1-2-3", Self.token(1), tags: "username:alice") + "\r\n\r\n"
        let lines = RegistrationImport(Data(text.utf8), validator: validator).lines
        #expect(lines.count == 1 && lines.first?.reason == nil)
    }
}
