import Foundation
import GatewayCore
import GatewayStore
import GatewaySupport
import Testing

@testable import GatewayOperations

@Suite("Validation of an export") struct RegistrationImportTests {
    private let validator = ExportValidator(names: NameRules(suffixes: ["@example.com"]), handles: HandleRules())

    private func judged(
        _ lines: [String], adoptingInstallations: Bool = false
    ) -> [RegistrationImport.Line] {
        var validator = validator
        validator.adoptsInstallations = adoptingInstallations
        return RegistrationImport(Data(lines.joined(separator: "\n").utf8), validator: validator).lines
    }

    /// The deletions of a command with `--purge`, and with `--delete` for the kinds.
    private func deletions(_ kinds: String...) throws -> DeletedKinds {
        try RequestedDeletions(
            ControlArguments(
                [.init("delete", .array(kinds.map(JSONValue.string)))], named: RequestedDeletions.arguments),
            includingHarmful: true
        ).kinds
    }

    private static let kinds = [
        "installations", "templates", "other-kind", "handle-unusable", "system-tag", "tag-unusable", "no-user",
        "user-spelling", "several-of-handle",
    ]

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
        // A registration that receives for another user is deleted, and everything else only by its name.
        let isHarmful = reason == "from-tag" || reason == "several-users"
        #expect(try line.entry(deletions())?.isPurged == (isHarmful || reason == nil ? true : nil))
        for kind in Self.kinds where reason != nil && !isHarmful {
            #expect(try line.entry(deletions(kind))?.isPurged == (kind == reason ? true : nil), "\(kind)")
        }
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

    @Test(
        "An installation is only adopted, if it has one user, and only deleted by its name",
        arguments: [
            ("username:alice", "alice"), ("$UserId:{alice}", "alice"), ("$UserId:{Alice@example.com}", "alice"),
            ("topic:x,username:alice,$UserId:{alice}", "alice"), ("", nil), ("username:alice,username:bob", nil),
            ("username:alice,$UserId:{bob}", nil), ("username:alice,from:bob", nil), ("username:Alice", nil),
            ("username:alice,$Other:{x}", nil), ("$UserId:{}", nil),
        ] as [(String, String?)])
    func installations(tags: String, owner: String?) throws {
        let export = [ExportLine.apple("1-2-3", Self.token(1), tags: "\(tags),$InstallationId:{2f0c1d00-1111}")]
        let line = try #require(judged(export).first)
        #expect(line.reason == "installation" && line.owner?.text == owner)
        for kind in Self.kinds {
            #expect(try line.entry(deletions(kind))?.isPurged == (kind == "installations" ? true : nil))
        }
        let adopted = try #require(judged(export, adoptingInstallations: true).first)
        #expect(adopted.reason == (owner == nil ? "installation" : nil))
        // A template of an installation is a part of it.
        let template = try #require(
            judged([
                ExportLine.entry(
                    "AppleTemplateRegistrationDescription", "1-2-3", "<DeviceToken>\(Self.token(1))</DeviceToken>",
                    tags: "\(tags),$InstallationId:{2f0c1d00-1111}")
            ]).first)
        #expect(try template.reason == "installation" && template.entry(deletions("templates")) == nil)
    }

    @Test("A kind that does not exist cannot be named, and harmful registrations need no name")
    func unknownKind() throws {
        for kind in ["everything", "from-tag", "several-users", "id-unusable", "template", ""] {
            #expect(throws: ControlError.self) { try deletions(kind) }
        }
        #expect(ExportValidator.Fault.allCases.compactMap(\.deletionName).sorted() == Self.kinds.sorted())
    }

    @Test("Each line of the hub's export job is imported by the kind in its attribute")
    func exportJob() throws {
        let lines = judged([
            ExportLine.job("AppleRegistrationDescription", "1-1-1", "<DeviceToken>\(Self.token(1))</DeviceToken>"),
            ExportLine.job(
                "GcmRegistrationDescription", "1-1-2",
                "<GcmRegistrationId>APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx</GcmRegistrationId>"),
            ExportLine.job(
                "FcmV1RegistrationDescription", "1-1-3",
                "<FcmV1RegistrationId>APA91bHun4MxP5egoKMwt2KZFBaFUH-2RYqx</FcmV1RegistrationId>"),
            ExportLine.job(
                "WindowsRegistrationDescription", "1-1-4",
                "<ChannelUri>https://db5p.notify.windows.com/?token=Aw&amp;x</ChannelUri>"),
            ExportLine.job(
                "MpnsRegistrationDescription", "1-1-5",
                "<ChannelUri>https://s.notify.live.net/u/1/x</ChannelUri>"),
            ExportLine.job(
                "WindowsTemplateRegistrationDescription", "1-1-6",
                "<ChannelUri>https://db5p.notify.windows.com/?token=Ax</ChannelUri>"
                    + "<BodyTemplate><![CDATA[<toast/>]]></BodyTemplate>"),
            ExportLine.job(
                "GcmRegistrationDescription", "1-1-7", "<GcmRegistrationId>|ID|1|:APA91bHun4MxP5eg</GcmRegistrationId>"),
        ])
        #expect(lines.map(\.reason) == [nil, nil, nil, nil, nil, "other-kind", "handle-unusable"])
        #expect(lines.map { $0.handle?.service } == [.apns, .fcm, .fcm, .wns, .mpns, nil, nil])
        #expect(lines.map { $0.owner?.text } == ["alice", "alice", "alice", "alice", "alice", nil, nil])
    }

    @Test("Several users' registrations of a device handle are all invalid, and a repeated line is ignored")
    func severalOfAHandle() {
        let token = String(repeating: "ab", count: 32)
        let lines = judged([
            ExportLine.apple("1-1-1", token, tags: "username:alice"),
            ExportLine.apple("2-2-2", token.uppercased(), tags: "username:alice"),
            ExportLine.apple("3-3-3", Self.token(3), tags: "username:alice"),
            ExportLine.apple("3-3-3", Self.token(3), tags: "username:alice"),
            ExportLine.apple("4-4-4", token, tags: "username:alice,from:bob"),
            // These are of something else on the device.
            ExportLine.apple("5-5-5", Self.token(3), tags: ""),
            ExportLine.apple("6-6-6", Self.token(3), tags: "username:bob,$InstallationId:{1}"),
        ])
        #expect(
            lines.map(\.reason) == [
                "several-of-handle", "several-of-handle", nil, nil, "from-tag", "no-user", "installation",
            ])
    }

    @Test("The import skips a registration that the gateway cannot or should not delete")
    func skipped() throws {
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
        let deletions = try self.deletions()
        #expect(lines.allSatisfy { $0.entry(deletions) == nil })
        #expect(lines.map(\.number) == [1, 2, 3, 4, 6])
    }

    @Test("The import accepts both kinds of line ends")
    func lineEnds() {
        let text = ExportLine.apple("1-2-3", Self.token(1), tags: "username:alice") + "\r\n\r\n"
        let lines = RegistrationImport(Data(text.utf8), validator: validator).lines
        #expect(lines.count == 1 && lines.first?.reason == nil)
    }
}
