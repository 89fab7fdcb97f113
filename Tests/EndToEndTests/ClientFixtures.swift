import Foundation
import GatewayTesting

/// The files in `Tests/Fixtures/clients`: the requests of the three client applications, one request per file.
struct ClientFixtures {
    let name: String
    let requests: ClientRequests
    /// The message text that the recipient must receive.
    var message: String { requests.message }
    var pns: String { ["ios": "apns", "windows": "wns", "android": "gcm"][name] ?? name }

    static let id = "6150337204881239465-7700236381151834022-3"

    /// The id of a secure notification.
    static let secureID = "1804289383"

    /// The fixtures of this project, as opposed to recorded requests.
    static let own = [
        client(
            .ios, handle: "5F1C0E9B8A7D6E5F4C3B2A190817263544536271809FAEBDCCDBEAF908172635",
            message: #"Say "when" – naïve & <now>"#),
        client(
            .windows, handle: "https://am3.notify.windows.com/?token=BgUAAACz%2fR7kq9&v=2",
            message: #"D:\reports & "totals" <b>"#),
        client(
            .android, handle: "eXamPle-Token_01:APA91bFZ2q7Yc9LmNoPqRsTuVwXyZ",
            message: #"très "bien" \ & <fini>"#),
    ]

    private static func client(_ kind: ClientRequests.Kind, handle: String, message: String) -> ClientFixtures {
        ClientFixtures(
            name: kind.rawValue,
            requests: ClientRequests(
                kind: kind, host: "notify.example", user: "alice", handle: handle, recipient: "bob", message: message))
    }

    /// The file names and their bytes, in the order in which a client sends them.
    var files: [(name: String, bytes: [UInt8])] {
        [
            ("\(name)-1-reserve.http", requests.reservation),
            ("\(name)-2-register.http", requests.registration(id: Self.id)),
            ("\(name)-3-send.http", requests.send),
            ("\(name)-4-send-with-position.http", requests.send(latitude: "47.6", longitude: "-122.3")),
            ("\(name)-5-fetch.http", requests.fetch(id: Self.secureID)),
        ]
    }

    static var folder: URL { TestData.package.appending(path: "Tests/Fixtures/clients") }
}
