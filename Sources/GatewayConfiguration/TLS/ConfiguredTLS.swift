internal import AuditSinks
package import GatewayCore
package import GatewayHTTP
package import GatewaySupport
package import Logging
internal import OutboundHTTP
internal import SegmentArchive
internal import TraceExport

/// The TLS contexts of a configuration: one for each listener, and one for each backend.
package struct ConfiguredTLS {
    /// The contexts in the order of the listeners; nil for a plaintext listener.
    package private(set) var listeners: [ServerTLS?] = []
    /// The context of the console; nil for a plaintext one, or without a console.
    package private(set) var console: ServerTLS?
    /// The verifications of forwarded client certificates in the order of the listeners; nil where they are ignored.
    package private(set) var forwardedCertificates: [ClientCertificateVerifier?] = []
    /// The contexts in the order of the backends; nil for a plaintext connection.
    package private(set) var backends: [ClientTLS?] = []
    /// The contexts that read files.
    package private(set) var reloadable: [any ReloadableFiles] = []

    /// Reads the files. Blocks. Called at the start.
    ///
    /// - Throws: The problems of all files.
    package init(
        _ configuration: ServerConfiguration, pool: BlockingPool, clocks: Clocks, logger: Logger
    ) throws(ConfigurationError) {
        var problems: [ConfigurationProblem] = []
        for section in configuration.listeners {
            listeners.append(nil)
            forwardedCertificates.append(nil)
            do throws(ConfigurationProblem) {
                if let files = section.forwardedCertificates {
                    let verifier = try Self.verifier(files, clocks: clocks, logger: logger)
                    forwardedCertificates[forwardedCertificates.count - 1] = verifier
                }
                if let files = section.tls {
                    var clients: ServerTLS.Clients?
                    if let section = section.clients {
                        let verifier = try Self.verifier(section.files, clocks: clocks, logger: logger)
                        clients = ServerTLS.Clients(verifier, isRequired: section.isRequired)
                    }
                    listeners[listeners.count - 1] = try Self.server(
                        files, clients, clocks: clocks, logger: logger)
                }
            } catch { problems.append(error) }
        }
        do throws(ConfigurationProblem) {
            if let files = configuration.console?.tls {
                console = try Self.server(files, clocks: clocks, logger: logger)
            }
        } catch { problems.append(error) }
        reloadable = listenerFiles(configuration, pool: pool, clocks: clocks, logger: logger)
        for section in configuration.backends {
            do throws(ConfigurationProblem) {
                backends.append(
                    try section.tls.map { section throws(ConfigurationProblem) in
                        try CertificateFiles.clientTLS(section)
                    })
            } catch { problems.append(error) }
        }
        watch(configuration.backends, pool)
        problems += Self.receiverProblems(configuration)
        if !problems.isEmpty { throw ConfigurationError(problems) }
    }

    /// Returns the contexts of another configuration with the same number of listeners. The listeners keep their
    /// contexts with the new file names. A backend keeps its context unless its TLS settings change. The caller
    /// reloads the files afterwards. Blocks briefly.
    package func renewed(
        from old: ServerConfiguration, to new: ServerConfiguration, pool: BlockingPool, clocks: Clocks, logger: Logger
    ) throws(ConfigurationProblem) -> ConfiguredTLS {
        var renewed = self
        renewed.reloadable = listenerFiles(new, pool: pool, clocks: clocks, logger: logger)
        renewed.backends = []
        for section in new.backends {
            let former = old.backends.firstIndex { $0.name == section.name && $0.tls == section.tls }
            if let former {
                renewed.backends.append(backends[former])
            } else {
                renewed.backends.append(
                    try section.tls.map { section throws(ConfigurationProblem) in
                        try CertificateFiles.clientTLS(section)
                    })
            }
        }
        renewed.watch(new.backends, pool)
        return renewed
    }

    /// Returns the context of a listener.
    private static func server(
        _ files: TLSFiles, _ clients: ServerTLS.Clients? = nil, clocks: Clocks, logger: Logger
    ) throws(ConfigurationProblem) -> ServerTLS {
        let identity = try CertificateFiles.identity(files)
        for warning in CertificateFiles.warnings(of: identity, in: files, now: clocks.wall()) {
            logger.warning("Certificate needs attention", metadata: ["problem": "\(warning)"])
        }
        do throws(TLSConfigurationError) {
            return try ServerTLS(identity, clients: clients)
        } catch { throw files.problem(error) }
    }

    /// Adds the contexts of the backends that read files.
    private mutating func watch(_ sections: [ServerConfiguration.BackendSection], _ pool: BlockingPool) {
        for (section, tls) in zip(sections, backends) {
            guard let files = section.tls, let tls else { continue }
            let certificates = ReloadableCertificates(files, for: tls, pool: pool)
            if !certificates.files.isEmpty { reloadable.append(certificates) }
        }
    }

    /// Returns the files of the listeners' contexts, as the configuration names them.
    private func listenerFiles(
        _ configuration: ServerConfiguration, pool: BlockingPool, clocks: Clocks, logger: Logger
    ) -> [any ReloadableFiles] {
        var reloadable: [any ReloadableFiles] = []
        if let files = configuration.console?.tls, let console {
            reloadable.append(ReloadableCertificates(files, for: console, pool: pool, clocks: clocks, logger: logger))
        }
        for (index, section) in configuration.listeners.enumerated() {
            if let files = section.tls, let tls = listeners[index] {
                reloadable.append(ReloadableCertificates(files, for: tls, pool: pool, clocks: clocks, logger: logger))
                if let section = section.clients, let clients = tls.clients {
                    reloadable.append(
                        ReloadableCertificates(
                            section.files, for: clients.verifier, of: tls, pool: pool, clocks: clocks, logger: logger))
                }
            }
            if let files = section.forwardedCertificates, let verifier = forwardedCertificates[index] {
                reloadable.append(
                    ReloadableCertificates(
                        files, for: verifier, of: nil, pool: pool, clocks: clocks, logger: logger))
            }
        }
        return reloadable
    }

    private static func verifier(
        _ files: ClientAuthorityFiles, clocks: Clocks, logger: Logger
    ) throws(ConfigurationProblem) -> ClientCertificateVerifier {
        let authorities = try CertificateFiles.authorities(files, now: clocks.wall())
        for warning in CertificateFiles.warnings(of: authorities, in: files, now: clocks.wall()) {
            logger.warning("Certificate needs attention", metadata: ["problem": "\(warning)"])
        }
        return ClientCertificateVerifier(authorities)
    }

    /// Logs each certificate of a listener that has expired or is about to. Called once a day, because a gateway may
    /// run for months.
    package func logExpiring(_ configuration: ServerConfiguration, now: WallTime, logger: Logger) {
        let served = zip(configuration.listeners.map(\.tls), listeners) + [(configuration.console?.tls, console)]
        for case (let files?, let tls?) in served {
            for warning in CertificateFiles.warnings(end: tls.certificateExpiry, in: files, now: now) {
                logger.warning("Certificate needs attention", metadata: ["problem": "\(warning)"])
            }
        }
    }

    /// Returns the problems and warnings of all certificate files without starting anything. Blocks.
    package static func problems(_ configuration: ServerConfiguration, clocks: Clocks) -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        for files in configuration.listeners.compactMap(\.tls) + [configuration.console?.tls].compactMap(\.self)
            + configuration.backends.compactMap(\.tls?.identity)
        {
            do throws(ConfigurationProblem) {
                let identity = try CertificateFiles.identity(files)
                problems += CertificateFiles.warnings(of: identity, in: files, now: clocks.wall())
            } catch { problems.append(error) }
        }
        for files in configuration.listeners.flatMap({ [$0.clients?.files, $0.forwardedCertificates] }) {
            guard let files else { continue }
            do throws(ConfigurationProblem) {
                let authorities = try CertificateFiles.authorities(files, now: clocks.wall())
                problems += CertificateFiles.warnings(of: authorities, in: files, now: clocks.wall())
            } catch { problems.append(error) }
        }
        for section in configuration.backends.compactMap(\.tls) {
            var authorityAlone = section
            authorityAlone.identity = nil
            do throws(ConfigurationProblem) {
                _ = try CertificateFiles.clientSettings(authorityAlone)
            } catch { problems.append(error) }
        }
        return problems + receiverProblems(configuration)
    }

    /// Returns the problems of the files of authorities that audit sinks, the archive and the export of traces trust.
    /// Blocks.
    private static func receiverProblems(_ configuration: ServerConfiguration) -> [ConfigurationProblem] {
        let files =
            configuration.journal.sinks.map(\.target.authority)
            + [configuration.journal.archive?.authority, configuration.tracing?.export.authority]
        return files.compactMap { file in
            guard let path = file, let problem = AuthorityFile.problem(with: path) else { return nil }
            return ConfigurationProblem(at: SourceLocation(file: path), path: "", problem)
        }
    }
}
