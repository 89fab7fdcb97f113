public import Gateway
public import GatewayCore
public import GatewayHTTP
public import GatewayStore
public import Logging

/// Everything that `gateway.yaml` says, read strictly and completely before anything starts.
public struct ServerConfiguration: Sendable {
    /// Where clients are listened to.
    public var listeners: [ListenerSection]
    /// How many connections of clients there may be, on all listeners together.
    public var connections: ListenerConfiguration.Connections
    /// Where health is asked.
    public var admin: ListenAddress
    /// The path of the control socket; nil for none.
    public var control: String?
    /// The backend.
    public var backend: BackendSection
    /// The authenticators in the order in which they are asked.
    public var authenticators: [ConfiguredPlugin]
    /// How long they may take, and when bad credentials are answered.
    public var authentication: AuthenticationRules
    /// How names become canonical.
    public var names: NameRules
    /// Who may notify whom, and register what.
    public var policy: Policy
    /// How often.
    public var limits: [Limit]
    /// How many threads serve calls.
    public var eventLoops: Int
    /// How many calls may be in flight, whatever they wait for.
    public var callsInFlight: Int
    /// How many of them may be of one user, and of one address.
    public var callsOfOne: CallerConcurrencyLimit.Bounds
    /// Where calls are recorded.
    public var journal: JournalSection
    /// The database of registrations and sessions.
    public var ledger: LedgerSection
    /// What is logged, and how.
    public var log: LogSection
    /// How the gateway stops.
    public var drain: DrainSection

    /// One listener.
    public struct ListenerSection: Sendable, Hashable {
        /// Where.
        public var address: ListenAddress
        /// Whether credentials are judged that come in the clear over a network.
        public var allowsPlaintextCredentials: Bool
        /// The certificate that it proves itself by; nil where it listens in the clear.
        public var tls: TLSFiles?
        /// Whether HTTP/2 is spoken beside HTTP/1.1.
        public var speaksHTTP2: Bool
        /// Who is believed to speak for others.
        public var trust: TrustedProxies
    }

    /// The backend.
    public struct BackendSection: Sendable {
        /// Where it is.
        public var address: BackendAddress
        /// How it is verified; nil where it is reached in the clear.
        public var tls: BackendTLSSection?
        /// Further addresses of the same backend.
        public var otherAddresses: [UpstreamAddress]
        /// How its addresses are checked without a call; nil for not at all.
        public var check: Check?
        /// After which time a connection takes no further request.
        public var connectionAge: Duration
        /// What its clients send and what it takes.
        public var profile: BackendProfile
        /// The profile's name, for the embedded backend.
        public var profileName: BackendProfile.BuiltIn
        /// How it is told who the user is.
        public var credential: UpstreamCredential
        /// How the text of a message is found.
        public var messages: MessageExtraction
        /// The grammar of device handles.
        public var handles: HandleRules
        /// How long it may take for one call.
        public var timeout: Duration
        /// How many connections to it there may be.
        public var connections: Int
        /// How many calls may wait for one of them.
        public var waiting: Int
        /// The port of the embedded backend; 0 takes any.
        public var embeddedPort: Int
    }

    /// A request that each address of the backend must answer.
    public struct Check: Sendable, Hashable {
        /// The path that is asked for.
        public var path: String
        /// How often.
        public var period: Duration
    }

    /// The journal.
    public struct JournalSection: Sendable {
        /// The directory of the segments.
        public var directory: String
        /// How many bytes must be free for calls to be recorded.
        public var minimumFree: Int
        /// The file of the key that signs checkpoints.
        public var signingKey: String
        /// Where checkpoints are written once more; nil for nowhere.
        public var checkpointCopy: CheckpointPlace?
        /// How long a segment is kept after its last record.
        public var keep: Duration
        /// How many bytes all segments may have together.
        public var keepBytes: Int
    }

    /// The ledger.
    public struct LedgerSection: Sendable {
        /// The database.
        public var file: String
        /// How many registrations a user may have.
        public var registrationsPerUser: Int
        /// How often a device may change hands within 24 hours.
        public var ownershipTransfersPerDay: Int
        /// Whether the operator vouches for all registrations from before the gateway.
        public var isMigrated: Bool
        /// How long an imported registration is kept while its owner's device has not registered again.
        public var confirmation: Duration
    }

    /// How the gateway stops.
    public struct DrainSection: Sendable, Hashable {
        /// How long it goes on taking calls after it has said that it is not ready.
        public var grace = Duration.seconds(5)
        /// How long calls in flight may take after that.
        public var limit = Duration.seconds(70)

        /// A section from its parts.
        public init(grace: Duration = .seconds(5), limit: Duration = .seconds(70)) {
            self.grace = grace
            self.limit = limit
        }
    }

    /// The log.
    public struct LogSection: Sendable {
        /// How a line looks.
        public enum Format: String, Sendable, CaseIterable {
            /// One JSON object a line.
            case json
            /// For people.
            case text
        }

        /// The least level that is logged.
        public var level: Logger.Level
        /// How a line looks.
        public var format: Format

        /// A section from its parts.
        public init(level: Logger.Level, format: Format) {
            self.level = level
            self.format = format
        }
    }
}
