internal import CLibcrypto
internal import GatewayCore

extension VerifiedCertificate {
    /// The maximum number of names of each kind. A certificate with more is not accepted.
    private static let maximumNames: CInt = 64

    /// Reads the names of a certificate. Returns nil if its subject alternative name is malformed or repeated, or if it
    /// has too many names.
    convenience init?(_ certificate: X509Certificate) {
        guard let alternatives = AlternativeNames(certificate),
            let commonNames = Self.values(NID_commonName, certificate),
            let units = Self.values(NID_organizationalUnitName, certificate)
        else { return nil }
        self.init(
            emailAddresses: alternatives.emailAddresses, uris: alternatives.uris, dnsNames: alternatives.dnsNames,
            commonNames: commonNames, organizationalUnits: units)
    }

    private struct AlternativeNames {
        var emailAddresses: [String] = []
        var uris: [String] = []
        var dnsNames: [String] = []

        init?(_ certificate: X509Certificate) {
            var occurrence: CInt = 0
            let extracted = X509_get_ext_d2i(certificate.pointer, NID_subject_alt_name, &occurrence, nil)
            // −1: the extension is absent.
            guard let extracted else {
                if occurrence != -1 { return nil }
                return
            }
            let names = OpaquePointer(extracted)
            defer { GENERAL_NAMES_free(names) }
            let count = OPENSSL_sk_num(names)
            guard count <= VerifiedCertificate.maximumNames else { return nil }
            for index in 0..<count {
                guard let name = OPENSSL_sk_value(names, index)?.assumingMemoryBound(to: GENERAL_NAME.self) else {
                    return nil
                }
                let text = name.pointee.d.ia5
                switch name.pointee.type {
                case GEN_EMAIL: emailAddresses.append(VerifiedCertificate.text(text))
                case GEN_URI: uris.append(VerifiedCertificate.text(text))
                case GEN_DNS: dnsNames.append(VerifiedCertificate.text(text))
                default: break
                }
            }
        }
    }

    /// Returns all values of an attribute of the subject.
    private static func values(_ attribute: CInt, _ certificate: X509Certificate) -> [String]? {
        let subject = X509_get_subject_name(certificate.pointer)
        guard X509_NAME_entry_count(subject) <= maximumNames else { return nil }
        var values: [String] = []
        var index = X509_NAME_get_index_by_NID(subject, attribute, -1)
        while index >= 0 {
            values.append(text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index))))
            index = X509_NAME_get_index_by_NID(subject, attribute, index)
        }
        return values
    }

    /// Decodes a string of ASN.1. Returns an empty string for a value that is not text or contains a control character.
    private static func text(_ value: UnsafePointer<ASN1_STRING>?) -> String {
        guard let value else { return "" }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = ASN1_STRING_to_UTF8(&bytes, value)
        guard count >= 0, let bytes else {
            ERR_clear_error()
            return ""
        }
        defer { CRYPTO_free(bytes, #file, #line) }
        let content = UnsafeBufferPointer(start: bytes, count: Int(count))
        guard content.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            let text = String(validating: content, as: UTF8.self)
        else { return "" }
        return text
    }
}
