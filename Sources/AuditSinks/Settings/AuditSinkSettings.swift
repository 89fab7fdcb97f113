public import GatewaySupport
public import OutboundHTTP

/// The settings of one audit sink.
public struct AuditSinkSettings: Sendable, Equatable {
    /// The name. It labels metrics and log lines, and names the file of the cursor.
    public let name: String
    /// The receiver of the records.
    public let target: Target
    /// The first record of a sink that has no cursor yet.
    public let start: Start

    /// Creates settings from their parts.
    public init(name: String, target: Target, start: Start = .now) {
        self.name = name
        self.target = target
        self.start = start
    }

    /// The receiver of the records.
    public enum Target: Sendable, Equatable {
        /// A syslog server.
        case syslog(SyslogSettings)
        /// An HTTP endpoint.
        case webhook(WebhookSettings)
        /// The path of a file to which lines are appended.
        case file(String)
        /// The store that several gateways share.
        case store

        /// The file of the trusted authorities; nil for those of the system, and without TLS.
        public var authority: String? {
            switch self {
            case .syslog(let settings): settings.authority
            case .webhook(let settings): settings.authority
            case .file, .store: nil
            }
        }

        /// The kind and the address, which no other sink may have.
        public var identity: String {
            switch self {
            case .syslog(let settings): "syslog \(settings.address)"
            case .webhook(let settings): "webhook \(settings.url.text)"
            case .file(let path): "file \(path)"
            case .store: "store"
            }
        }
    }

    /// The first record of a sink that has no cursor yet.
    public enum Start: String, Sendable, CaseIterable {
        /// The first record after the sink was configured.
        case now
        /// The oldest record in the journal.
        case oldest
    }

    /// The sink that copies all records to the store that several gateways share. No configured sink can have its name.
    public static let sharedStore = AuditSinkSettings(name: "shared_store", target: .store, start: .oldest)

    /// The maximum number of configured sinks.
    public static let maximumCount = 4

    /// Returns whether a text is usable as a name: 1 to 32 of `a–z 0–9 -`.
    public static func isName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// The settings of a syslog sink.
public struct SyslogSettings: Sendable, Equatable {
    /// The address of a syslog server.
    public enum Address: Sendable, Hashable, CustomStringConvertible {
        /// A TCP port with TLS (RFC 5425).
        case tls(host: String, port: Int)
        /// A Unix socket of the type SOCK_DGRAM.
        case datagram(path: String)
        /// A Unix socket of the type SOCK_STREAM, with octet counting (RFC 6587, section 3.4.1).
        case stream(path: String)

        /// The address as the configuration writes it.
        public var description: String {
            switch self {
            case .tls(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
            case .datagram(let path), .stream(let path): "unix:\(path)"
            }
        }
    }

    /// The facilities of RFC 5424, section 6.2.1, that suit an audit log.
    public enum Facility: String, Sendable, CaseIterable {
        case auth, authpriv, daemon, user, local0, local1, local2, local3, local4, local5, local6, local7

        /// The numerical code.
        var code: Int {
            switch self {
            case .user: 1
            case .daemon: 3
            case .auth: 4
            case .authpriv: 10
            case .local0: 16
            case .local1: 17
            case .local2: 18
            case .local3: 19
            case .local4: 20
            case .local5: 21
            case .local6: 22
            case .local7: 23
            }
        }
    }

    /// The address.
    public let address: Address
    /// The facility of all messages.
    public let facility: Facility
    /// The file of the trusted authorities of a connection with TLS; nil for those of the system.
    public let authority: String?
    /// The name that the server's certificate must contain; nil for the host of the address.
    public let serverName: String?

    /// Creates settings from their parts.
    public init(
        address: Address, facility: Facility = .authpriv, authority: String? = nil,
        serverName: String? = nil
    ) {
        self.address = address
        self.facility = facility
        self.authority = authority
        self.serverName = serverName
    }
}

/// The settings of a webhook sink.
public struct WebhookSettings: Sendable, Equatable {
    /// The URL to which batches are posted.
    public let url: EndpointURL
    /// The key of the signatures.
    public let secret: Secret
    /// The file of the trusted authorities of a connection with TLS; nil for those of the system.
    public let authority: String?
    /// The time for one request, from the connection to the end of the response.
    public let timeout: Duration
    /// The maximum number of records in a request.
    public let records: Int

    /// The minimum length of a secret in bytes, the length of a tag (RFC 2104, section 3).
    public static let minimumSecretBytes = 32

    /// Creates settings from their parts.
    public init(
        url: EndpointURL, secret: Secret, authority: String? = nil, timeout: Duration = .seconds(30),
        records: Int = 500
    ) {
        self.url = url
        self.secret = secret
        self.authority = authority
        self.timeout = timeout
        self.records = records
    }

    /// Returns whether all settings are equal, the secrets included.
    public static func == (left: WebhookSettings, right: WebhookSettings) -> Bool {
        left.url == right.url && left.secret.isEqual(to: right.secret) && left.authority == right.authority
            && left.timeout == right.timeout && left.records == right.records
    }
}
