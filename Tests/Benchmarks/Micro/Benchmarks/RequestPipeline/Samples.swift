import GatewayTesting
import NIOCore

@testable import Gateway
@testable import GatewayCore
@testable import GatewaySupport

/// Sample calls in the form that clients send them.
enum Sample {
    static let message = "The meeting is at noon, in room \"Ångström\"."
    static let body = #""The meeting is at noon, in room \"Ångström\".""#

    static let deviceHandle = String(repeating: "B0", count: 32)
    static let registrationBody =
        #"{"Platform":"apns","Handle":"\#(deviceHandle)","Tags":["topic:news","topic:sports"]}"#

    /// A send of a current HTTP client.
    static let send = [UInt8](
        """
        POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r
        Host: gateway.example\r
        Authorization: Bearer \(String(repeating: "abcdefgh", count: 40))\r
        Content-Type: application/json\r
        Content-Length: \(body.utf8.count)\r
        \r
        \(body)
        """.utf8)

    /// The same send from a browser through a proxy, with many fields that the gateway ignores.
    static let longSend = [UInt8](
        """
        POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r
        Host: gateway.example\r
        User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r
        Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r
        Accept-Language: en-US,en;q=0.5\r
        Accept-Encoding: gzip, deflate, br, zstd\r
        Cache-Control: no-cache\r
        Pragma: no-cache\r
        DNT: 1\r
        Sec-Fetch-Dest: empty\r
        Sec-Fetch-Mode: cors\r
        Sec-Fetch-Site: same-origin\r
        Origin: https://gateway.example\r
        Referer: https://gateway.example/app/inbox?folder=all\r
        X-Forwarded-For: 192.0.2.17, 198.51.100.4\r
        X-Forwarded-Proto: https\r
        Via: 1.1 proxy.example\r
        Cookie: theme=dark; session=0123456789abcdef0123456789abcdef\r
        Authorization: Bearer \(String(repeating: "abcdefgh", count: 40))\r
        Content-Type: application/json\r
        Content-Length: \(body.utf8.count)\r
        \r
        \(body)
        """.utf8)

    static func request(_ authorization: ReceivedRequest.FieldValue) -> ReceivedRequest {
        ReceivedRequest(
            "POST /api/notifications?pns=apns&to_tag=bob", authorization: authorization,
            contentType: .text("application/json"), body: Array(body.utf8))
    }

    static let registration = ReceivedRequest(
        "PUT /api/register/7260336227650468927-4200236381151834034-1", authorization: .text("Bearer alices-token"),
        contentType: .text("application/json"), body: Array(registrationBody.utf8))

    /// Returns the user name, which must be valid.
    static let user = UserName(canonical: "alice")!

    /// The facts of the send after authorization.
    static var facts: CallFacts {
        var facts = CallFacts(call: CallID(process: 0x1234_5678_9ABC_DEF0, number: 42), peer: .documentation)
        facts.action = .send
        facts.user = user
        facts.authenticator = "hmac-token"
        facts.recipient = UserName(canonical: "bob")
        facts.pns = .apns
        facts.rule = "send[0]"
        facts.bytes = message.utf8.count
        facts.digest = KeyedDigest([UInt8](repeating: 7, count: 16))
        return facts
    }
}
