internal import Foundation
internal import GatewayCore
package import GatewayHTTP
package import GatewaySupport

/// Reads the certificates and keys that a configuration names. Blocks; called at the start, by `check` and on the
/// blocking pool.
package enum CertificateFiles {
    /// The number of seconds before its expiry from which a certificate causes a warning.
    private static let notice: Int64 = 14 * 86_400
    /// The maximum length of a file of revocation lists: about 20,000 revoked certificates. The signature of the whole
    /// list is verified with each certificate, on an event loop.
    static let maximumRevocationListLength = 1 << 20

    /// Returns the certificate and the key of two files. Other users must have no access to the key's file.
    static func identity(_ files: TLSFiles) throws(ConfigurationProblem) -> TLSIdentity {
        let certificates = try text(files.certificate)
        let key = try SecretFile.text(at: files.key)
        do throws(TLSConfigurationError) {
            return try TLSIdentity(certificates: certificates, key: key)
        } catch {
            switch error {
            case .noCertificate, .noAuthority: throw problem(files.certificate, "\(error)")
            case .noKey, .encryptedKey: throw problem(files.key, "\(error)")
            case .mismatch: throw problem(files.key, "\(error) in \(files.certificate)")
            }
        }
    }

    /// Returns the authorities of client certificates and their revocation lists.
    static func authorities(
        _ files: ClientAuthorityFiles, now: WallTime
    ) throws(ConfigurationProblem)
        -> ClientAuthorities
    {
        let authorities = try text(files.authorities)
        let lists: String?
        if let file = files.revocationLists {
            lists = try text(file, maximumLength: maximumRevocationListLength)
        } else {
            lists = nil
        }
        do throws(ClientAuthoritiesError) {
            return try ClientAuthorities(authorities: authorities, revocationLists: lists, now: now)
        } catch {
            let file = error.concernsRevocation ? files.revocationLists : files.authorities
            throw problem(file ?? files.authorities, "\(error)")
        }
    }

    /// Returns the warning about authorities of which one has expired or is about to.
    static func warnings(
        of authorities: ClientAuthorities, in files: ClientAuthorityFiles, now: WallTime
    ) -> [ConfigurationProblem] {
        let end = authorities.end
        guard end.seconds - now.seconds < notice else { return [] }
        let message =
            end <= now
            ? "holds an authority that expired at \(end); its client certificates are rejected"
            : "holds an authority that expires at \(end)"
        return [problem(files.authorities, message, severity: .warning)]
    }

    /// Returns the TLS context for connections to the backend.
    package static func clientTLS(_ section: BackendTLSSection) throws(ConfigurationProblem) -> ClientTLS {
        let settings = try clientSettings(section)
        do throws(TLSConfigurationError) {
            return try ClientTLS(settings, name: section.name)
        } catch { throw section.problem(error) }
    }

    /// Returns the TLS settings for connections to the backend.
    static func clientSettings(_ section: BackendTLSSection) throws(ConfigurationProblem) -> ClientTLS.Settings {
        let identity: TLSIdentity?
        if let files = section.identity { identity = try self.identity(files) } else { identity = nil }
        guard let authority = section.authority else { return ClientTLS.Settings(identity: identity) }
        let authorities = try text(authority)
        do throws(TLSConfigurationError) {
            return try ClientTLS.Settings(authorities: authorities, identity: identity)
        } catch {
            throw problem(authority, "\(error)")
        }
    }

    /// Returns the warnings about a usable certificate: expired, about to expire, or not yet valid.
    static func warnings(of identity: TLSIdentity, in files: TLSFiles, now: WallTime) -> [ConfigurationProblem] {
        guard identity.beginning > now, identity.end > now else {
            return warnings(end: identity.end, in: files, now: now)
        }
        return [
            problem(
                files.certificate, "is not valid before \(identity.beginning); clients reject it until then",
                severity: .warning)
        ]
    }

    /// Returns the warnings that follow from the expiry of a certificate.
    static func warnings(end: WallTime, in files: TLSFiles, now: WallTime) -> [ConfigurationProblem] {
        let message: String? =
            if end <= now {
                "expired at \(end); clients reject it"
            } else if end.seconds - now.seconds < notice {
                "expires at \(end)"
            } else {
                nil
            }
        return message.map { [problem(files.certificate, $0, severity: .warning)] } ?? []
    }

    private static func text(
        _ path: String, maximumLength: Int = YAMLDocument.maximumLength
    ) throws(ConfigurationProblem) -> String {
        let data = try TextFile.bytes(path)
        guard data.count <= maximumLength else {
            throw problem(path, "is longer than \(maximumLength) bytes")
        }
        guard let text = String(validating: data, as: UTF8.self) else { throw problem(path, "is not UTF-8") }
        return text
    }

    private static func problem(
        _ path: String, _ message: String, severity: ConfigurationProblem.Severity = .error
    ) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: path), path: "", message, severity: severity)
    }
}
