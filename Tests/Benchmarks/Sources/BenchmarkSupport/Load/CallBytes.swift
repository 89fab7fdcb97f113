package import NIOCore

/// Encoded requests, created once and sent repeatedly.
package enum CallBytes {
    /// Returns a send with a credential.
    package static func send(to recipient: String = "bob", _ authorization: String) -> ByteBuffer {
        request(
            "POST /api/notifications?pns=apns&to_tag=\(recipient)", authorization, body: #""The meeting is at noon.""#)
    }

    /// Returns a registration of an APNs device.
    package static func registration(of handle: String, id: String, _ authorization: String) -> ByteBuffer {
        request(
            "PUT /api/register/\(id)", authorization,
            body: #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#)
    }

    private static func request(_ line: String, _ authorization: String, body: String) -> ByteBuffer {
        ByteBuffer(
            string: "\(line) HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: \(authorization)\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}
