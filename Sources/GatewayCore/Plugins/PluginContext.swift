public import Logging

/// What a plug-in is given. Nothing else of the gateway is in its reach.
public struct PluginContext: Sendable {
    /// Labelled with the plug-in's name.
    public let logger: Logger
    /// For work that blocks or takes more than some microseconds.
    public let blockingPool: BlockingPool
    /// For reading files. Logins never wait here, so that however many passwords are being hashed a changed file is read at once.
    public let filePool: BlockingPool
    /// The clocks.
    public let clocks: Clocks
    /// How names become canonical.
    public let names: NameRules
    /// Whether a later authenticator takes the same kind of credential: then a name that this one lacks is `notMine`.
    public let isLastOfItsKind: Bool
    /// Which tokens have been taken back.
    public let revocations: any RevocationList

    /// Puts a context together; the server and the test kit do.
    public init(
        logger: Logger, blockingPool: BlockingPool, filePool: BlockingPool? = nil, clocks: Clocks, names: NameRules,
        isLastOfItsKind: Bool,
        revocations: any RevocationList = NothingRevoked()
    ) {
        self.logger = logger
        self.blockingPool = blockingPool
        self.filePool = filePool ?? blockingPool
        self.clocks = clocks
        self.names = names
        self.isLastOfItsKind = isLastOfItsKind
        self.revocations = revocations
    }
}
