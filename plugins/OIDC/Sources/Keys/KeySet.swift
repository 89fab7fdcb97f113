internal import GatewaySupport
internal import Logging

/// The usable keys of a JSON Web Key Set (RFC 7517, section 5).
struct KeySet: Sendable {
    /// The maximum size of a document in bytes.
    static let maximumSize = 262_144
    /// The maximum number of keys in a document, usable or not.
    static let maximumCount = 100

    /// The reason why a document is not a key set.
    enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
        case tooLong
        case notJSON
        case noKeys
        case tooMany

        /// A part of a sentence that follows the name of the document.
        var description: String {
            switch self {
            case .tooLong: "exceeds \(KeySet.maximumSize) bytes"
            case .notJSON: "is not a JSON document, or names a member twice"
            case .noKeys: "has no list \"keys\""
            case .tooMany: "has more than \(KeySet.maximumCount) keys"
            }
        }
    }

    /// The result of a search for a token's key.
    enum Selection {
        case key(PublicKey)
        /// No key fits. A newer set may have one.
        case unknown
        /// Several keys fit, so none is used.
        case ambiguous
    }

    /// The usable keys, in the order of the document.
    let keys: [SigningKey]
    /// The reasons why other keys of the document are not used. Each is reported once, by an operator's log.
    let skipped: [SkippedKey]
    /// The digest of the document, by which a repeated document is recognised.
    let digest: SHA256.Digest?

    /// A set without keys, for the time before the first one is read.
    static let empty = KeySet(keys: [], skipped: [], digest: nil)

    private init(keys: [SigningKey], skipped: [SkippedKey], digest: SHA256.Digest?) {
        self.keys = keys
        self.skipped = skipped
        self.digest = digest
    }

    /// Reads a document. Keys that cannot verify a token are skipped, so that a provider may publish other kinds.
    init(_ document: [UInt8]) throws(Fault) {
        guard document.count <= Self.maximumSize else { throw .tooLong }
        guard let value = try? JSONParser(depthLimit: 8, memberLimit: 8192).parse(document.span) else { throw .notJSON }
        guard case .array(let values) = value["keys"] else { throw .noKeys }
        guard values.count <= Self.maximumCount else { throw .tooMany }
        var keys: [SigningKey] = []
        var skipped: [SkippedKey] = []
        for value in values {
            do throws(SkippedKey) {
                let key = try SigningKey(value)
                // A repeated key is one key.
                if !keys.contains(where: { $0.jwk == key.jwk }) { keys.append(key) }
            } catch { skipped.append(error) }
        }
        self.init(keys: keys, skipped: skipped, digest: document.withUnsafeBytes { SHA256.Digest(of: $0) })
    }

    /// Returns the key that verifies tokens with this key id and algorithm.
    ///
    /// The id must be equal, byte for byte. A token without an id is verified only if a single key fits its algorithm.
    /// The type and the curve of the key must be those of the algorithm, whatever the token says.
    func select(_ id: String?, for algorithm: SignatureAlgorithm) -> Selection {
        var found: PublicKey?
        for key in keys where key.fits(algorithm) && (id == nil || key.id == id) {
            guard found == nil else { return .ambiguous }
            found = key.key
        }
        return found.map(Selection.key) ?? .unknown
    }
}

extension KeySet {
    /// Logs the keys, and the mistakes of the provider.
    func report(to logger: Logger, of issuer: String) {
        for mistake in skipped where mistake.isMistake {
            logger.warning("Provider key not used", metadata: ["issuer": "\(issuer)", "reason": "\(mistake)"])
        }
        let ids = keys.map { $0.id ?? "without id" }
        if keys.isEmpty {
            logger.error("Provider has no key that can verify tokens", metadata: ["issuer": "\(issuer)"])
        } else {
            logger.info("Provider keys read", metadata: ["issuer": "\(issuer)", "keys": "\(ids)"])
        }
    }
}
