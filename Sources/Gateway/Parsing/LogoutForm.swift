internal import GatewayCore
internal import NIOCore

/// The body of `POST /auth/backchannel-logout` (OpenID Connect Back-Channel Logout 1.0, section 2.5).
enum LogoutForm {
    /// Returns the value of `logout_token`. Other parameters are ignored, as the specification requires.
    static func token(in body: ByteBuffer) throws(Rejection) -> ByteBuffer {
        let name = Array("logout_token=".utf8)
        let values = body.readableBytesView.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            .filter { $0.starts(with: name) }
        // The characters of a token need no escape, so an escaped one is refused with all else that is no token.
        guard values.count == 1, let value = values.first?.dropFirst(name.count), !value.isEmpty,
            value.allSatisfy(isTokenByte)
        else {
            throw Rejection(
                .malformedRequest, "the form has not exactly one logout token",
                hint: "The form must have one logout_token.")
        }
        return ByteBuffer(bytes: value)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
