internal import GatewayCore
internal import GatewayHTTP
internal import Logging

/// Certificates and keys in files, and the TLS that goes by them: read again while the gateway serves, for the connections that
/// come after. A pair that is no pair changes nothing.
struct ReloadableCertificates: ReloadableFiles {
    let files: [String]
    private let take: @Sendable () throws(ConfigurationProblem) -> Void
    private let pool: BlockingPool

    /// Those of a listener.
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

    /// Those towards the backend.
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
        return outcome ?? [ConfigurationProblem(at: SourceLocation(file: files[0]), path: "", "was not read: too busy")]
    }
}

extension TLSFiles {
    /// What is wrong with the pair, at its key.
    func problem(_ fault: TLSConfigurationError) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: key), path: "", "\(fault)")
    }
}

extension BackendTLSSection {
    /// What is wrong with it, at the first file that it has.
    func problem(_ fault: TLSConfigurationError) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: identity?.key ?? authority ?? ""), path: "", "\(fault)")
    }
}
