internal import GatewaySupport
internal import OutboundHTTP

/// The signature of a webhook request: `t=SECONDS,v1=HEX`.
///
/// `SECONDS` is the time of the request in seconds since 1970. `HEX` is the HMAC-SHA256, in 64 lower-case hexadecimal
/// digits, over the bytes of `SECONDS`, a full stop, and the body.
struct WebhookSignature: Sendable {
    /// The name of the header field.
    static let field = "Notify-Gateway-Signature"

    private let hmac: SharedHMAC?

    /// Creates a signature with the key.
    init(_ secret: Secret) { hmac = SharedHMAC(.sha256, key: secret) }

    /// Returns the value of the header field.
    func value(for body: [UInt8], at time: WallTime) throws(DeliveryFailure) -> String {
        let seconds = String(time.seconds)
        guard let tag = hmac?.tag(over: Array("\(seconds).".utf8) + body) else {
            throw DeliveryFailure("libcrypto cannot compute the signature")
        }
        let digits = Array("0123456789abcdef".utf8)
        let hex = tag.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return "t=\(seconds),v1=\(String(decoding: hex, as: UTF8.self))"
    }
}
