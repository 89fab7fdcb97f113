import Foundation
import GatewaySupport
import GatewayTesting
import NotifyBackend
import Testing

@Suite("The registrations import command") struct ImportTests {
    private static let alices = String(repeating: "A1", count: 32)
    private static let bobs = String(repeating: "B0", count: 32)
    private static let eves = String(repeating: "EE", count: 32)

    /// Returns the registrations of the hub in the format of its export.
    private func export(_ hub: NotificationHub) -> String {
        hub.registrations().map { registration in
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><content type=\"application/xml\"><AppleRegistrationDescription>"
                + "<RegistrationId>\(registration.id)</RegistrationId><Tags>\(registration.tags.joined(separator: ","))</Tags>"
                + "<DeviceToken>\(registration.handle)</DeviceToken></AppleRegistrationDescription></content></entry>"
        }.joined(separator: "\n")
    }

    /// Runs the command against the gateway and returns its listed results by registration id.
    private func run(_ gateway: GatewayUnderTest, _ more: String...) async throws -> (Program.Outcome, [String: String])
    {
        try gateway.directory.write("control: control.sock\n", to: "control.yaml")
        let outcome = try await Program.run(
            ["registrations", "import", "export.xml", "--json", "--config", "control.yaml"] + more,
            in: gateway.directory.path)
        var listed: [String: String] = [:]
        for line in outcome.output.split(separator: "\n") {
            let item = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            listed[item?["registration"] as? String ?? "-"] = "\(item?["result"] ?? "-") \(item?["reason"] ?? "-")"
        }
        return (outcome, listed)
    }

    @Test(
        "Registrations from before the gateway survive an import, and those with foreign tags are deleted",
        .shows(.v5, .v6),
        arguments: TestUpstream.allCases)
    func migration(upstream: TestUpstream) async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.run(upstream, hub: hub) { gateway, direct async throws in
            #expect(try await direct.registerDirectly("alice", upstream.flavor, Self.alices, id: "1-1-1").status == 200)
            #expect(try await direct.registerDirectly("bob", upstream.flavor, Self.bobs, id: "2-2-2").status == 200)
            let tags = ["from:alice"]
            #expect(
                try await direct.registerDirectly("eve", upstream.flavor, Self.eves, id: "3-3-3", tags: tags).status
                    == 200)
            func send() async throws {
                let sent = try await gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""for bob""#)
                #expect(sent.status == 200)
            }
            try await send()
            // Only backends send to the tag `from:` and the sender.
            let overheard = upstream == .hub ? 0 : 1
            #expect(hub.inbox(ofHandle: Self.eves).count == overheard)

            try gateway.directory.write(export(hub), to: "export.xml")
            let (listing, listed) = try await run(gateway)
            #expect(listing.status == 0 && listed == ["3-3-3": "rejected from-tag"], "\(listing)")
            #expect(listing.errors.contains("bound 2, known 0, rejected 1, purged 0, skipped 0"))
            #expect(hub.registrations().count == 3)
            let (purge, purged) = try await run(gateway, "--purge")
            #expect(purge.status == 0 && purged == ["3-3-3": "purged from-tag"], "\(purge)")
            #expect(purge.errors.contains("bound 0, known 2, rejected 0, purged 1, skipped 0"))
            try await gateway.record {
                $0["action"] as? String == "register-delete" && $0["kind"] as? String == "outcome"
            }
            #expect(!hub.registrations().contains { $0.id == "3-3-3" })
            let records = try gateway.journal()
            let deletion = try #require(records.first { $0["action"] as? String == "register-delete" })
            #expect(deletion["rule"] as? String == "unsound" && deletion["registration"] as? String == "3-3-3")
            #expect(deletion["user"] == nil)
            #expect(records.count { $0["action"] as? String == "operator-import" } == 2)

            let before = hub.registrations()
            let (again, nothing) = try await run(gateway, "--purge")
            #expect(again.status == 0 && nothing.isEmpty)
            #expect(again.errors.contains("bound 0, known 3, rejected 0, purged 0, skipped 0"))
            #expect(hub.registrations() == before)

            try await send()
            #expect(hub.inbox(ofHandle: Self.eves).count == overheard && hub.inbox(ofHandle: Self.bobs).count == 2)
            // The registration of bob keeps its id and now has an owner, so a transfer to eve is recorded.
            #expect(try await gateway.client.register("bob", "apns", Self.bobs).status == 200)
            #expect(try await gateway.client.register("eve", "apns", Self.bobs).status == 200)
            #expect(hub.registrations().first { $0.handle == Self.bobs }?.id == "2-2-2")
            #expect(try gateway.journal().contains { $0["action"] as? String == "hand-over" })
            // The device of eve returns with the tag of eve only.
            #expect(try await gateway.client.register("eve", "apns", Self.eves).status == 200)
            #expect(hub.registrations().first { $0.handle == Self.eves }?.tags == ["username:eve"])
        }
    }

    @Test("Without a gateway the import changes the stores, the next start deletes, and `check` reports the state")
    func stopped() async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { port async throws in
            let directory = try TestFiles.ofGateway("backend: { url: \"http://127.0.0.1:\(port)\" }")
            let direct = try RawClient(port: port)
            _ = try await direct.registerDirectly("alice", .classic, Self.alices, id: "1-1-1")
            _ = try await direct.registerDirectly("eve", .classic, Self.eves, id: "3-3-3", tags: ["username:bob"])
            try directory.write(export(hub), to: "export.xml")
            #expect(
                try await directory.command("check").output.contains(
                    "V5 and V6 are mitigated for new registrations only"))
            #expect(try await directory.command("registrations", "import", "export.xml").status == 0)
            #expect(
                try await directory.command("check").output.contains(
                    "1 registration from before the gateway is invalid"))
            let purge = try await directory.command("registrations", "import", "export.xml", "--purge")
            #expect(purge.status == 0 && purge.output.contains("several-users"), "\(purge)")
            // The registration of alice may be forged too. Only a registration by her device confirms it.
            let unconfirmed = try await directory.command("check").output
            #expect(!unconfirmed.contains("V5") && unconfirmed.contains("1 imported registration is unconfirmed"))
            let list = try await directory.command("registrations", "list", "--json").output
            #expect(list.contains(#""state":"unconfirmed""#) && list.contains(#""confirm_until":"#), "\(list)")
            let confirmed = try await directory.command("registrations", "import", "export.xml", "--confirm-all")
            #expect(confirmed.errors.contains("confirmed 1"), "\(confirmed)")
            #expect(try await !directory.command("check").output.contains("unconfirmed"))
            let records = try GatewayUnderTest.journal(in: directory)
            #expect(records.contains { ($0["target"] as? String)?.hasPrefix("confirm-all /") == true })
            #expect(hub.registrations().count == 2)
            _ = try await ServedProgram.run(in: directory) { _ async throws in
                // The gateway records each deletion after it.
                try await JournalChanges(in: directory).first { hub.registrations().count == 1 ? true : nil }
            }
            #expect(hub.registrations().map(\.id) == ["1-1-1"])
        }
    }

    @Test("An import that recognizes nothing in a file with lines fails, and the warning about old registrations stays")
    func nothingRecognized() async throws {
        let directory = try TestFiles.ofGateway("backend: { url: \"http://127.0.0.1:1\" }")
        for (text, message) in [
            ("<a/>\n<b/>", "None of the 2 lines"), ("no xml", "None of the 1 lines"),
            (
                "<AppleRegistrationDescription><RegistrationId>1-1-1</RegistrationId></AppleRegistrationDescription>",
                "(1 handle-unusable)"
            ),
        ] {
            try directory.write(text, to: "export.xml")
            for more in ["--json", "--purge", "--confirm-all"] {
                let outcome = try await directory.command("registrations", "import", "export.xml", more)
                #expect(outcome.status == 1 && outcome.errors.contains(message), "\(outcome)")
            }
        }
        let check = try await directory.command("check").output
        #expect(check.contains("V5 and V6 are mitigated for new registrations only"))
        // An empty hub has no registrations from before the gateway.
        try directory.write("", to: "export.xml")
        #expect(try await directory.command("registrations", "import", "export.xml").status == 0)
        #expect(try await !directory.command("check").output.contains("V5"))
    }

    @Test(
        "The import rejects a path that is not a regular file and records nothing",
        arguments: ["missing.xml", "/dev/zero", "."])
    func noFile(file: String) async throws {
        try await GatewayUnderTest.run { gateway in
            try gateway.directory.write("control: control.sock\n", to: "control.yaml")
            let outcome = try await Program.run(
                ["registrations", "import", file, "--config", "control.yaml"], in: gateway.directory.path)
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(try !gateway.journal().contains { $0["action"] as? String == "operator-import" })
        }
    }
}
