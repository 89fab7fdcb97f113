public import GatewaySupport
public import Logging

/// The facilities that a plug-in receives. A plug-in has no other access to the gateway.
public struct PluginContext: Sendable {
    /// A logger labelled with the plug-in's name.
    public let logger: Logger
    /// The pool for work that blocks or takes more than some microseconds.
    public let blockingPool: BlockingPool
    /// The pool for reading files. Logins do not use it, so that a changed file is read at once even while many
    /// passwords are being hashed.
    public let filePool: BlockingPool
    /// The clocks.
    public let clocks: Clocks
    /// The rules that make names canonical.
    public let names: NameRules
    /// Whether no later authenticator accepts the same kind of credential. If one does, an unknown name is `notMine`.
    public let isLastOfItsKind: Bool
    /// The list of revoked tokens.
    public let revocations: any RevocationList
    /// Whether a running gateway reads its configuration again. A plug-in may then accept what would be a mistake at a
    /// start, such as a file from which the last user was removed.
    public let isReload: Bool

    /// Creates a context. Called by the server and the test kit.
    public init(
        logger: Logger, blockingPool: BlockingPool, filePool: BlockingPool? = nil, clocks: Clocks, names: NameRules,
        isLastOfItsKind: Bool,
        revocations: any RevocationList = EmptyRevocationList(), isReload: Bool = false
    ) {
        self.logger = logger
        self.blockingPool = blockingPool
        self.filePool = filePool ?? blockingPool
        self.clocks = clocks
        self.names = names
        self.isLastOfItsKind = isLastOfItsKind
        self.revocations = revocations
        self.isReload = isReload
    }
}
