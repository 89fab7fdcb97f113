import Foundation
import GatewayTesting
import Testing

@Suite("Client fixtures")
struct ClientFixtureTests {
    /// `NOTIFY_GATEWAY_WRITE_FIXTURES=1` regenerates the files.
    @Test("The fixture files are identical to the output of the generator")
    func filesAreGenerated() throws {
        let writes = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_WRITE_FIXTURES"] == "1"
        for fixture in ClientFixtures.own {
            for file in fixture.files {
                let url = ClientFixtures.folder.appending(path: file.name)
                if writes { try Data(file.bytes).write(to: url) }
                #expect(try [UInt8](Data(contentsOf: url)) == file.bytes, "\(file.name)")
            }
        }
    }

    @Test(
        "The generator produces the requests that were recorded from real clients",
        .enabled(if: TestData.recordedClients != nil, "no recorded requests on this machine"))
    func generatorMatchesRecordings() throws {
        let folder = try #require(TestData.recordedClients)
        let id = "2372532420827572008-85883004107185159-4"
        let clients: [(ClientRequests, [String])] = [
            (
                client(
                    .ios, handle: "040B121920272E353C434A51585F666D747B828990979EA5ACB3BAC1C8CFD6DD",
                    message: "He said \"hi\" – café"),
                ["ios-1-post-register", "ios-2-put-register", "ios-3-send-unescaped"]
            ),
            (
                client(
                    .windows, handle: "https://db5.notify.windows.com/?token=AwYAAAB%2b8dz%2f&x=1",
                    message: #"C:\windows & <b>"#),
                ["windows-1-post-register", "windows-2-put-register", "windows-3-send"]
            ),
            (
                client(.android, handle: "fcm_Tok-en:APA91bHun4MxP5egoKMwt2KZFBaFUH", message: "café"),
                ["android-1-post-register", "android-2-put-register", "android-3-send-latin1"]
            ),
        ]
        for (client, names) in clients {
            let made = [client.reservation, client.registration(id: id), client.send]
            for (name, bytes) in zip(names, made) {
                let recorded = try Data(contentsOf: folder.appending(path: "\(name).http"))
                #expect([UInt8](recorded) == bytes, "\(name)")
            }
        }
    }

    private func client(_ kind: ClientRequests.Kind, handle: String, message: String) -> ClientRequests {
        ClientRequests(
            kind: kind, host: "gateway.example", user: "alice", handle: handle, recipient: "bob", message: message)
    }
}
