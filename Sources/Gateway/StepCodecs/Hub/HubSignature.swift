internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The signature that authorizes requests to a notification hub (Azure: shared access signature).
///
/// One signature is valid for the whole hub for an hour. It is made again when half of that time has passed, which
/// costs one HMAC. Each thread has a copy, so that event loops do not wait for each other.
final class HubSignature: Sendable {
    private struct Copy {
        var text: [UInt8] = []
        /// The time, in seconds, from which the signature is made again.
        var renewal = Int64.min
    }

    private final class Slot: Sendable {
        let copy = Mutex(Copy())
    }

    /// The time for which a signature is valid, in seconds.
    static let lifetime: Int64 = 3600

    private let resource: [UInt8]
    private let keyName: String
    private let hmac: SharedHMAC?
    private let slots = (0..<8).map { _ in Slot() }

    /// Creates a signer.
    ///
    /// - Parameter resource: The URI that the signature is valid for, in lower case.
    init(resource: String, keyName: String, key: Secret) {
        self.resource = Array(String(expecting: 2 * resource.utf8.count) { $0.append(percentEncoding: resource) }.utf8)
        self.keyName = keyName
        hmac = SharedHMAC(.sha256, key: key)
    }

    /// Appends the value of the `Authorization` field. If libcrypto fails, the value is one that the hub rejects.
    func append(to bytes: inout ByteWriter, now: WallTime) {
        let slot = slots[ThreadNumber.current & (slots.count - 1)]
        slot.copy.withLock { copy in
            // A clock that is set back leaves a signature that is valid for longer; it is replaced too.
            if now.seconds >= copy.renewal || copy.renewal - now.seconds > Self.lifetime {
                copy.text = value(expiry: now.seconds + Self.lifetime)
                copy.renewal = now.seconds + Self.lifetime / 2
            }
            bytes.append(copy.text)
        }
    }

    /// Returns the value for an expiry, in seconds since 1970.
    func value(expiry: Int64) -> [UInt8] {
        let signed = resource + Array("\n\(expiry)".utf8)
        let tag = hmac?.tag(over: signed) ?? []
        let signature = String(decoding: Base64.encode(tag, .standard), as: UTF8.self)
        return [UInt8](expecting: 320) { bytes in
            bytes.append("SharedAccessSignature sr=")
            bytes.append(resource)
            bytes.append("&sig=")
            bytes.append(percentEncoding: signature)
            bytes.append("&se=")
            bytes.append(decimal: Int(expiry))
            bytes.append("&skn=")
            bytes.append(percentEncoding: keyName)
        }
    }
}
