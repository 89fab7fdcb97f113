internal import CLibcrypto
public import GatewaySupport
internal import Synchronization

/// An authority that issues certificates and revocation lists for tests, with keys on the curve P-256.
///
/// Valid from one day before ``WallTime/test`` for two years, like the certificates that it issues by default; those for
/// libraries that read the machine's clock have ``lasting``.
/// `@unchecked Sendable`: the objects of libcrypto are not changed after the initializer.
public final class TestAuthority: @unchecked Sendable {
    /// The certificate in PEM.
    public var certificate: String { issued.certificate }
    /// The DER encoding of the certificate.
    public var der: [UInt8] { issued.der }

    /// A validity of a hundred years.
    public static let lasting =
        WallTime(seconds: WallTime.test.seconds - 86_400)...WallTime(seconds: WallTime.test.seconds + 36_525 * 86_400)

    private let name: String
    private let key: OpaquePointer
    private let issued: TestClientCertificate
    private static let lastSerial = Atomic(1000)

    /// The contents of a certificate.
    public struct Request: Sendable {
        /// The common names of the subject.
        public var commonNames = ["alice"]
        /// The organizational units of the subject.
        public var units: [String] = []
        /// The subject alternative name as in OpenSSL's configuration, such as `email:alice@example.com`.
        public var alternativeName: String?
        /// The DER encoding of a subject alternative name, for one that OpenSSL's configuration cannot express.
        public var encodedAlternativeName: [UInt8]?
        /// The extended key usage; nil for a certificate without the extension.
        public var usage: String? = "clientAuth"
        /// Whether the certificate is an authority's.
        public var isAuthority = false
        /// The validity.
        public var validity =
            WallTime(
                seconds: WallTime.test.seconds - 86_400)...WallTime(
                seconds: WallTime.test.seconds + 730 * 86_400)

        /// Creates a request for `CN=alice` and client authentication.
        public init() {}
    }

    /// Creates a root.
    public convenience init(
        _ name: String = "Test Client CA", validity: ClosedRange<WallTime> = Request().validity
    ) {
        self.init(name, validity, issuedBy: nil)
    }

    private init(
        _ name: String, _ validity: ClosedRange<WallTime>, issuedBy issuer: (name: String, key: OpaquePointer)?
    ) {
        self.name = name
        key = Self.makeKey()
        var request = Request()
        request.commonNames = [name]
        request.usage = nil
        request.validity = validity
        request.isAuthority = true
        issued = Self.sign(request, key: key, issuer: issuer ?? (name, key))
    }

    deinit { EVP_PKEY_free(key) }

    /// Creates an authority that this one has certified.
    public func subordinate(_ name: String) -> TestAuthority {
        TestAuthority(name, Request().validity, issuedBy: (self.name, key))
    }

    /// Issues a certificate with a new key.
    public func issue(_ change: (inout Request) -> Void = { _ in }) -> TestClientCertificate {
        var request = Request()
        change(&request)
        let key = Self.makeKey()
        defer { EVP_PKEY_free(key) }
        return Self.sign(request, key: key, issuer: (name, self.key))
    }

    /// Issues a revocation list in PEM.
    ///
    /// - Parameters:
    ///   - revoked: The revoked certificates.
    ///   - validity: The times of this and of the next update.
    public func revocationList(
        _ revoked: [TestClientCertificate] = [],
        validity: ClosedRange<WallTime> = WallTime(
            seconds: WallTime.test.seconds - 3600)...WallTime(
                seconds: WallTime.test.seconds + 86_400)
    ) -> String {
        let list = X509_CRL_new()
        defer { X509_CRL_free(list) }
        X509_CRL_set_version(list, 1)
        Self.withName([name], []) { X509_CRL_set_issuer_name(list, $0) }
        Self.withTime(validity.lowerBound) { X509_CRL_set1_lastUpdate(list, $0) }
        Self.withTime(validity.upperBound) { X509_CRL_set1_nextUpdate(list, $0) }
        for certificate in revoked {
            let entry = X509_REVOKED_new()
            let serial = ASN1_INTEGER_new()
            ASN1_INTEGER_set(serial, certificate.serial)
            X509_REVOKED_set_serialNumber(entry, serial)
            ASN1_INTEGER_free(serial)
            Self.withTime(validity.lowerBound) { X509_REVOKED_set_revocationDate(entry, $0) }
            // The list owns the entry from here on.
            X509_CRL_add0_revoked(list, entry)
        }
        X509_CRL_sort(list)
        X509_CRL_sign(list, key, EVP_sha256())
        return Self.text { PEM_write_bio_X509_CRL($0, list) }
    }

    private static func sign(
        _ request: Request, key: OpaquePointer, issuer: (name: String, key: OpaquePointer)
    ) -> TestClientCertificate {
        let certificate = X509_new()
        defer { X509_free(certificate) }
        let serial = lastSerial.wrappingAdd(1, ordering: .relaxed).newValue
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial)
        withName(request.commonNames, request.units) { X509_set_subject_name(certificate, $0) }
        withName([issuer.name], []) { X509_set_issuer_name(certificate, $0) }
        withTime(request.validity.lowerBound) { X509_set1_notBefore(certificate, $0) }
        withTime(request.validity.upperBound) { X509_set1_notAfter(certificate, $0) }
        X509_set_pubkey(certificate, key)
        add(NID_basic_constraints, request.isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE", to: certificate)
        let keyUsage = request.isAuthority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature"
        add(NID_key_usage, keyUsage, to: certificate)
        if let usage = request.usage { add(NID_ext_key_usage, usage, to: certificate) }
        if let name = request.alternativeName { add(NID_subject_alt_name, name, to: certificate) }
        if let bytes = request.encodedAlternativeName {
            let value = ASN1_OCTET_STRING_new()
            ASN1_OCTET_STRING_set(value, bytes, CInt(bytes.count))
            let added = X509_EXTENSION_create_by_NID(nil, NID_subject_alt_name, 0, value)
            X509_add_ext(certificate, added, -1)
            X509_EXTENSION_free(added)
            ASN1_OCTET_STRING_free(value)
        }
        X509_sign(certificate, issuer.key, EVP_sha256())
        var der = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
        der.withUnsafeMutableBufferPointer { buffer in
            var cursor = buffer.baseAddress
            _ = i2d_X509(certificate, &cursor)
        }
        return TestClientCertificate(
            certificate: text { PEM_write_bio_X509($0, certificate) },
            key: text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }, der: der, serial: serial)
    }

    private static func makeKey() -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        EVP_PKEY_keygen_init(context)
        EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        EVP_PKEY_keygen(context, &key)
        guard let key else { fatalError("libcrypto made no key") }
        return key
    }

    private static func add(_ kind: CInt, _ value: String, to certificate: OpaquePointer?) {
        guard let added = X509V3_EXT_conf_nid(nil, nil, kind, value) else { fatalError("invalid extension: \(value)") }
        X509_add_ext(certificate, added, -1)
        X509_EXTENSION_free(added)
    }

    private static func withName(_ commonNames: [String], _ units: [String], _ body: (OpaquePointer?) -> CInt) {
        let name = X509_NAME_new()
        defer { X509_NAME_free(name) }
        for (kind, values) in [("CN", commonNames), ("OU", units)] {
            for value in values {
                let bytes = Array(value.utf8)
                X509_NAME_add_entry_by_txt(name, kind, MBSTRING_UTF8, bytes, CInt(bytes.count), -1, 0)
            }
        }
        _ = body(name)
    }

    private static func withTime(_ time: WallTime, _ body: (UnsafeMutablePointer<ASN1_TIME>?) -> CInt) {
        let encoded = ASN1_TIME_set(nil, Int(time.seconds))
        _ = body(encoded)
        ASN1_STRING_free(encoded)
    }

    private static func text(_ write: (OpaquePointer?) -> CInt) -> String {
        let output = BIO_new(BIO_s_mem())
        defer { BIO_free(output) }
        _ = write(output)
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = BIO_read(output, &bytes, CInt(bytes.count))
        return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
    }
}

/// A certificate of a ``TestAuthority`` and its key.
public struct TestClientCertificate: Sendable {
    /// The certificate in PEM.
    public let certificate: String
    /// The private key in PEM.
    public let key: String
    /// The DER encoding of the certificate.
    public let der: [UInt8]
    /// The serial number.
    public let serial: Int
}
