internal import GatewayCore
internal import GatewayHTTP
internal import GatewaySupport
internal import Logging

/// Certificate and key files whose TLS context is updated while the gateway serves. The change applies to new
/// connections. An invalid pair changes nothing.
struct ReloadableCertificates: ReloadableFiles {
    let files: [String]
    private let take: @Sendable () throws(ConfigurationProblem) -> Void
    private let pool: BlockingPool

    /// Creates the files of a listener.
    init(_ files: TLSFiles, for tls: ServerTLS, pool: BlockingPool, clocks: Clocks, logger: Logger) {
        self.files = [files.certificate, files.key]
        self.pool = pool
        take = { () throws(ConfigurationProblem) in
            let identity = try CertificateFiles.identity(files)
            do throws(TLSConfigurationError) {
                guard try tls.replace(identity) else { return }
                logger.notice(
                    "Certificate replaced", metadata: ["file": "\(files.certificate)", "expires": "\(identity.end)"])
                for warning in CertificateFiles.warnings(of: identity, in: files, now: clocks.wall()) {
                    logger.warning("Certificate needs attention", metadata: ["problem": "\(warning)"])
                }
            } catch { throw files.problem(error) }
        }
    }

    /// Creates the files that verify client certificates. If they are invalid, or a revocation list is out of date, the
    /// previous ones stay in effect; after the end of the previous revocation list nobody is accepted.
    ///
    /// - Parameter tls: The listener's configuration, which tells clients the authorities; nil for certificates that
    ///   proxies forward.
    init(
        _ files: ClientAuthorityFiles, for verifier: ClientCertificateVerifier, of tls: ServerTLS?, pool: BlockingPool,
        clocks: Clocks, logger: Logger
    ) {
        self.files = [files.authorities, files.revocationLists].compactMap(\.self)
        self.pool = pool
        take = { () throws(ConfigurationProblem) in
            let authorities = try CertificateFiles.authorities(files, now: clocks.wall())
            guard verifier.replace(authorities) else { return }
            logger.notice("Client authorities replaced", metadata: ["file": "\(files.authorities)"])
            do throws(TLSConfigurationError) {
                try tls?.updateClientAuthorities()
            } catch {
                throw ConfigurationProblem(at: SourceLocation(file: files.authorities), path: "", "\(error)")
            }
        }
    }

    /// Creates the files of the connections to the backend.
    init(_ section: BackendTLSSection, for tls: ClientTLS, pool: BlockingPool) {
        files = [section.authority, section.identity?.certificate, section.identity?.key].compactMap(\.self)
        self.pool = pool
        take = { () throws(ConfigurationProblem) in
            let settings = try CertificateFiles.clientSettings(section)
            do throws(TLSConfigurationError) { try tls.replace(settings) } catch { throw section.problem(error) }
        }
    }

    func reload() async -> [ConfigurationProblem] {
        let outcome = try? await pool.run { [take] () -> [ConfigurationProblem] in
            do throws(ConfigurationProblem) {
                try take()
                return []
            } catch {
                return [error]
            }
        }
        return outcome
            ?? [
                ConfigurationProblem(
                    at: SourceLocation(file: files[0]), path: "", "was not read: too many pending tasks")
            ]
    }
}

extension TLSFiles {
    /// Returns the problem of the pair, located at its key.
    func problem(_ fault: TLSConfigurationError) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: key), path: "", "\(fault)")
    }
}

extension BackendTLSSection {
    /// Returns the problem, located at the first configured file.
    func problem(_ fault: TLSConfigurationError) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: identity?.key ?? authority ?? ""), path: "", "\(fault)")
    }
}
