internal import GatewayCore
internal import GatewaySupport

/// Seals the texts of secure notifications under a key that is stored in a file beside their database.
struct SecureTextCipher: Sendable {
    /// A number that identifies the key. It is stored with each text.
    let fingerprint: Int64
    private let cipher: AESGCM

    /// Derives the cipher and the fingerprint from the key of the file, so that neither reveals the other.
    init(key: Secret) throws(LedgerUnavailable) {
        guard let hmac = HMAC(.sha256, key: key),
            let sealing = hmac.tag(over: Array("sealing of secure notifications".utf8)),
            let cipher = AESGCM(key: Secret(sealing)),
            let print = KeyedDigester(key: key).digest(Array("fingerprint of the key of secure notifications".utf8))
        else { throw LedgerUnavailable("libcrypto cannot derive the key of secure notifications") }
        self.cipher = cipher
        fingerprint = print.bytes.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    /// The number of bytes that a sealed text of this length has.
    static func length(ofSealed text: String) -> Int { text.utf8.count + AESGCM.overhead }

    /// Seals a text for a recipient.
    func seal(
        _ text: String, _ place: SecureTextReservation.Place, expiry: WallTime
    ) throws(LedgerUnavailable) -> [UInt8] {
        guard let sealed = cipher.seal(Array(text.utf8), context: Self.context(place, expiry)) else {
            throw LedgerUnavailable("libcrypto cannot seal a text")
        }
        return sealed
    }

    /// Opens a text; returns nil if it was sealed under another key or for another id, recipient or expiry.
    func open(_ sealed: [UInt8], _ place: SecureTextReservation.Place, expiry: WallTime) -> String? {
        cipher.open(sealed, context: Self.context(place, expiry)).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Returns the bytes that bind a sealed text to its row. The name comes last, because only its length varies.
    private static func context(_ place: SecureTextReservation.Place, _ expiry: WallTime) -> [UInt8] {
        withUnsafeBytes(of: place.id.number.bigEndian, Array.init)
            + withUnsafeBytes(of: expiry.microseconds.bigEndian, Array.init) + Array(place.owner.text.utf8)
    }
}
