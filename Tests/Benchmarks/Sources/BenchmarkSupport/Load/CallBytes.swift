package import NIOCore

/// Requests as bytes that are made once and sent again and again.
package enum CallBytes {
    /// A send with a credential.
    package static func send(to recipient: String = "bob", _ authorization: String) -> ByteBuffer {
        request(
            "POST /api/notifications?pns=apns&to_tag=\(recipient)", authorization, body: #""The meeting is at noon.""#)
    }

    /// A registration of an APNs device.
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
