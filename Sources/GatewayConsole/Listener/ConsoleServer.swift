package import GatewayConfiguration
package import GatewayCore
package import GatewayHTTP
package import GatewayOperations
package import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
package import NIOPosix
internal import NIOSSL

/// The console: its pages, and the listener that serves them.
package final class ConsoleServer: Sendable {
    /// The dependencies of the pages.
    package struct Parts: Sendable {
        let operations: ControlOperations
        let accounts: ConsoleAccounts
        let sessions: ConsoleSessions
        let live: LiveCalls
        let verification: RunningVerification
        let health: @Sendable () async -> ConsoleHealth
        let groups: @Sendable (UserName) -> Set<GroupName>?
        let names: NameRules
        let clocks: Clocks
        let journal: any Journal
        let hasNodes: Bool
        let logger: Logger

        /// Creates the parts.
        ///
        /// - Parameters:
        ///   - groups: Returns the groups that a user's accounts have now; nil if they are unknown.
        ///   - hasNodes: Whether several gateways may share the store.
        package init(
            operations: ControlOperations, accounts: ConsoleAccounts, sessions: ConsoleSessions, live: LiveCalls,
            verification: RunningVerification, health: @escaping @Sendable () async -> ConsoleHealth,
            groups: @escaping @Sendable (UserName) -> Set<GroupName>?, names: NameRules, clocks: Clocks,
            journal: any Journal, hasNodes: Bool,
            logger: Logger
        ) {
            self.operations = operations
            self.accounts = accounts
            self.sessions = sessions
            self.live = live
            self.verification = verification
            self.health = health
            self.groups = groups
            self.names = names
            self.clocks = clocks
            self.journal = journal
            self.hasNodes = hasNodes
            self.logger = logger
        }
    }

    /// The port that the listener is bound to.
    package let port: Int?
    private let channel: any Channel
    private let connections: OperatorConnections
    private let pages: ConsolePages

    private init(_ channel: any Channel, _ connections: OperatorConnections, _ pages: ConsolePages) {
        port = channel.localAddress?.port
        self.channel = channel
        self.connections = connections
        self.pages = pages
    }

    /// The bounds of connections. A page and its files need four, and an open page nearly always has one.
    private static func settings(_ origin: RequestOriginCheck) -> ControlSettings {
        var settings = ControlSettings()
        settings.connections = 160
        settings.rejectedConnections = 32
        settings.connectionsPerAddress = 64
        settings.evictsIncompleteRequests = true
        settings.closesWithPeer = true
        settings.rejectionFields = ConsoleHeaders.fields(usesHTTPS: origin.usesHTTPS)
        settings.request = .seconds(10)
        return settings
    }

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - section: The address, and the origin at which browsers reach it.
    ///   - tls: The certificate; nil for a plaintext listener.
    ///   - group: The event loops of the connections.
    /// - Throws: The error of the system if the address cannot be bound.
    package static func open(
        _ section: GatewayConfiguration.ServerConfiguration.ConsoleSection, tls: ServerTLS?, _ parts: Parts,
        group: MultiThreadedEventLoopGroup
    ) async throws -> ConsoleServer {
        let origin = RequestOriginCheck(configured: section.origin, isSecure: tls != nil)
        let pages = ConsolePages(parts, origin: origin)
        let connections = OperatorConnections(settings: settings(origin), logger: parts.logger)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                do {
                    if let tls { try channel.pipeline.syncOperations.addHandler(tls.http1Handler()) }
                } catch {
                    return channel.eventLoop.makeFailedFuture(error)
                }
                let peer = channel.remoteAddress.flatMap(Peer.init) ?? .gateway
                return connections.serve(channel) { request, writer, channel in
                    try await pages.respond(to: request, from: peer, on: channel, writer)
                }
            }
        // The configuration with a Unix socket is invalid, because browsers cannot open one.
        guard case .tcp(let host, let port) = section.address else {
            preconditionFailure("the configuration has no console on a Unix socket")
        }
        let channel = try await bootstrap.bind(host: host, port: port).get()
        return ConsoleServer(channel, connections, pages)
    }

    /// Stops accepting connections, ends the requests of open pages that wait, and waits a few seconds for requests in progress. May be called
    /// more than once.
    package func stop() async {
        pages.isStopping.set()
        try? await channel.close()
        await connections.stop(on: channel.eventLoop)
    }
}

/// The routes of the console.
final class ConsolePages: Sendable {
    let isStopping = StopFlag()
    private let responder: RouterResponder<ConsoleContext>
    private let logger: Logger

    init(_ parts: ConsoleServer.Parts, origin: RequestOriginCheck) {
        let isSelfService: @Sendable () -> Bool = { parts.accounts.access().isForEveryUser }
        let renderer = PageRenderer(isSelfService: isSelfService, hasNodes: parts.hasNodes, now: parts.clocks.wall)
        let queries = ConsoleQueries(parts.operations)
        let logins = ConsoleLogins(
            parts.accounts, sessions: parts.sessions, origin: origin, journal: parts.journal, renderer: renderer,
            logger: parts.logger)
        let router = Router(context: ConsoleContext.self)
        router.add(middleware: ConsoleHeaders(origin: origin, renderer: renderer, logger: parts.logger))
        for resource in Resource.all {
            router.get(RouterPath(resource.path)) { _, _ in Self.response(resource) }
        }
        router.get("/login") { request, _ in try await logins.page(request) }
        router.post("/login") { request, context in try await logins.logIn(request, context) }
        let provider = ProviderLogins(parts.accounts.provider, logins: logins, clocks: parts.clocks, renderer: renderer)
        router.get(RouterPath(ProviderLogins.path)) { try await provider.begin($0, $1) }
        router.get(RouterPath(ProviderLogins.callbackPath)) { try await provider.complete($0, $1) }

        let changes = ChangeForms(logins: logins, renderer: renderer)
        let users = router.group().add(middleware: ConsoleAuthentication(logins: logins, role: .user))
        users.post("/logout") { try await logins.logOut($0, $1) }
        let live = LivePages(
            calls: parts.live, logins: logins, isStopping: isStopping, names: parts.names, now: parts.clocks.wall)
        users.get("/live") { try await live.changes($0, $1) }
        let me = OwnPages(
            queries: queries, renderer: renderer, changes: changes, isOffered: isSelfService)
        users.get("/me") { try await me.page($0, $1) }
        users.post("/me/changes") { try await me.change($0, $1) }

        let viewers = router.group().add(middleware: ConsoleAuthentication(logins: logins, role: .viewer))
        let overview = OverviewPages(queries: queries, renderer: renderer, health: parts.health, now: parts.clocks.wall)
        viewers.get("/") { try await overview.overview($0, $1) }
        let calls = CallPages(queries: queries, renderer: renderer)
        viewers.get("/calls") { try await calls.list($0, $1) }
        viewers.get("/calls/export") { try await calls.export($0, $1) }
        viewers.get("/calls/{call}") { try await calls.call($0, $1) }
        let pairs = PairPages(queries: queries, renderer: renderer, groups: parts.groups)
        viewers.get("/pairs") { try await pairs.pairs($0, $1) }
        let userPages = UserPages(queries: queries, renderer: renderer, changes: changes)
        viewers.get("/users") { try await userPages.search($0, $1) }
        viewers.get("/users/{user}") { try await userPages.user($0, $1) }
        viewers.post("/users/{user}/changes") { try await userPages.change($0, $1) }
        let policy = PolicyPages(queries: queries, renderer: renderer, logins: logins)
        viewers.get("/policy") { try await policy.policy($0, $1) }
        viewers.post("/policy/explain") { try await policy.explain($0, $1) }
        let journal = JournalPages(
            queries: queries, renderer: renderer, logins: logins, verification: parts.verification)
        viewers.get("/journal") { try await journal.journal($0, $1) }
        viewers.post("/journal/verification") { try await journal.verify($0, $1) }
        let nodes = NodePages(queries: queries, renderer: renderer)
        if parts.hasNodes { viewers.get("/nodes") { try await nodes.list($0, $1) } }
        responder = router.buildResponder()
        logger = parts.logger
    }

    /// Responds to a complete request. Returns when the response is written.
    @concurrent func respond(
        to request: Request, from peer: Peer, on channel: any Channel, _ writer: consuming ResponseWriter
    ) async throws {
        let response = try await response(to: request, from: peer, on: channel)
        try await writer.write(response: response.head, body: response.body)
    }

    /// Returns the response to a complete request.
    @concurrent func response(to request: Request, from peer: Peer, on channel: any Channel) async throws -> Response {
        var request = request
        // The connection leaves out the body of the response to HEAD (RFC 9110, section 9.3.2).
        if request.method == .head {
            var head = request.head
            head.method = .get
            request = Request(head: head, body: request.body)
        }
        return try await responder.respond(
            to: request, context: ConsoleContext(source: .init(channel: channel, peer: peer, logger: logger)))
    }

    private static func response(_ resource: Resource) -> Response {
        Response(
            status: .ok,
            headers: [
                .contentType: resource.contentType, .cacheControl: "public, max-age=31536000, immutable",
            ],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: resource.bytes)))
    }
}
