public import AuditSinks
public import Gateway
public import GatewayCore
public import GatewayHTTP
public import GatewayStore
public import Logging
public import SegmentArchive

/// The content of `gateway.yaml`, validated completely before anything starts.
public struct ServerConfiguration: Sendable {
    /// The listeners for clients.
    public var listeners: [ListenerSection]
    /// The limits of client connections, for all listeners together.
    public var connections: ListenerConfiguration.Connections
    /// The address of the admin listener for health and metrics.
    public var admin: ListenAddress
    /// The operator console; nil for none.
    public var console: ConsoleSection?
    /// The path of the control socket; nil for none.
    public var control: String?
    /// The backends and the hub, at least one, in the order of the file.
    public var backends: [BackendSection]
    /// The authenticators in the order in which they are queried.
    public var authenticators: [ConfiguredPlugin]
    /// The time limits of authentication.
    public var authentication: AuthenticationRules
    /// The rules that make user names canonical.
    public var names: NameRules
    /// The rules of who may notify whom and register which tags.
    public var policy: Policy
    /// The files of the fences in `policy`.
    package var fenceFiles: [FenceFile]
    /// The secure sends and the bounds of their texts.
    public var sends: SendsSection
    /// The rate limits.
    public var limits: [Limit]
    /// The number of event loop threads.
    public var eventLoops: Int
    /// The maximum number of calls in flight.
    public var callsInFlight: Int
    /// The maximum number of calls in flight of one user and of one address.
    public var callsPerCaller: CallerConcurrencyLimit.Bounds
    /// The audit journal.
    public var journal: JournalSection
    /// The SQLite file of registrations and sessions, and their limits.
    public var ledger: LedgerSection
    /// The store in PostgreSQL that has the registrations and sessions instead of the file; nil for none.
    package var store: PostgreSQLStore.Settings?
    /// The export of spans; nil if tracing is turned off.
    public var tracing: TracingSection?
    /// The level and format of the log.
    public var log: LogSection
    /// The time limits of a graceful shutdown.
    public var drain: DrainSection

    /// A listener for clients.
    public struct ListenerSection: Sendable, Hashable {
        /// The address.
        public var address: ListenAddress
        /// Whether credentials are verified that arrive over a network without TLS.
        public var allowsPlaintextCredentials: Bool
        /// The server certificate; nil for a plaintext listener.
        public var tls: TLSFiles?
        /// The client certificates that the listener asks for; nil for none.
        public var clients: ClientCertificateSection?
        /// Whether HTTP/2 is served in addition to HTTP/1.1.
        public var supportsHTTP2: Bool
        /// The trusted proxies.
        public var trust: TrustedProxies
        /// The verification of client certificates that trusted proxies forward; nil if they are ignored.
        public var forwardedCertificates: ClientAuthorityFiles?
    }

    /// The backend.
    public struct BackendSection: Sendable {
        /// The address.
        public var address: BackendAddress
        /// The TLS settings; nil for a plaintext connection.
        public var tls: BackendTLSSection?
        /// Further addresses of the same backend.
        public var otherAddresses: [UpstreamAddress]
        /// The active health check of its addresses; nil for none.
        public var check: Check?
        /// The time after which a connection takes no further request.
        public var connectionAge: Duration
        /// The protocol of its clients and of the backend.
        public var profile: BackendProfile
        /// The profile's name, for the embedded backend.
        public var profileName: BackendProfile.BuiltIn
        /// The notification hub that is used without a notify-users backend; nil for such a backend.
        public var hub: HubSettings?
        /// The credential that identifies the user to the backend.
        public var credential: UpstreamCredential
        /// The method of extracting the text of a message.
        public var messages: MessageExtraction
        /// The grammar of device handles.
        public var handles: HandleRules
        /// The time limit for one call.
        public var timeout: Duration
        /// The maximum number of connections.
        public var connections: Int
        /// The maximum number of calls that wait for a connection.
        public var waiting: Int
        /// The port of the embedded backend; for 0 the system assigns one.
        public var embeddedPort: Int
        /// The push services that it serves.
        public var services: Set<PushService>
    }

    /// The first backend, for the settings that all of them share: clients' protocol, messages and handles.
    public var backend: BackendSection { backends[0] }

    /// A health check request that each address of the backend must answer.
    public struct Check: Sendable, Hashable {
        /// The requested path.
        public var path: String
        /// The time between two checks.
        public var period: Duration
    }

    /// The journal.
    public struct JournalSection: Sendable {
        /// The directory of the segments.
        public var directory: String
        /// The number of free bytes below which calls are not recorded.
        public var minimumFree: Int
        /// The file of the key that signs checkpoints.
        public var signingKey: String
        /// The destination of checkpoint copies; nil for none.
        public var checkpointCopy: CheckpointDestination?
        /// The retention time of a segment after its last record.
        public var keep: Duration
        /// The maximum size of all segments together, in bytes.
        public var keepBytes: Int
        /// The receivers of the records.
        public var sinks: [AuditSinkSettings] = []
        /// The store to which finished segments are copied; nil for none.
        public var archive: ArchiveSettings?
    }

    /// The ledger.
    public struct LedgerSection: Sendable {
        /// The default path of the database.
        static let standardFile = "/var/lib/notify-gateway/ledger.sqlite"

        /// The path of the database.
        public var file: String
        /// The maximum number of registrations of a user.
        public var registrationsPerUser: Int
        /// The maximum number of owner changes of a device within 24 hours.
        public var ownershipTransfersPerDay: Int
        /// Whether the operator declares all registrations from before the gateway to be valid.
        public var isMigrated: Bool
        /// The time for which an imported registration is kept until its owner's device registers again.
        public var confirmation: Duration
    }

    /// The secure sends.
    public struct SendsSection: Sendable, Hashable {
        /// The rules; nil if there are no secure sends.
        public var secure: SecureSendRules?
        /// The bounds of the stored texts.
        public var bounds = StoredSecureTexts.Bounds()
    }

    /// The time limits of a graceful shutdown.
    public struct DrainSection: Sendable, Hashable {
        /// The time for which calls are accepted after the gateway reports itself as not ready.
        public var grace = Duration.seconds(5)
        /// The time that calls in flight have after that.
        public var limit = Duration.seconds(70)

        /// Creates a section.
        public init(grace: Duration = .seconds(5), limit: Duration = .seconds(70)) {
            self.grace = grace
            self.limit = limit
        }
    }

    /// The log.
    public struct LogSection: Sendable {
        /// The format of a log line.
        public enum Format: String, Sendable, CaseIterable {
            /// One JSON object per line.
            case json
            /// Text for people.
            case text
        }

        /// The minimum level that is logged.
        public var level: Logger.Level
        /// The format of a log line.
        public var format: Format

        /// Creates a section.
        public init(level: Logger.Level, format: Format) {
            self.level = level
            self.format = format
        }
    }
}

/// The levels of swift-log as the configuration names them.
enum LogLevel: String, CaseIterable {
    case trace
    case debug
    case info
    case notice
    case warning
    case error
    case critical

    var level: Logger.Level {
        switch self {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .notice: .notice
        case .warning: .warning
        case .error: .error
        case .critical: .critical
        }
    }
}
