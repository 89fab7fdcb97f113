internal import GatewayCore
package import GatewaySupport
internal import Hummingbird

/// The state of the gateway that the overview shows.
package struct ConsoleHealth: Sendable {
    /// Why the gateway is not ready; nil if it is.
    package var obstacle: String?
    /// A condition that needs attention but does not prevent service; nil if there is none.
    package var warning: String?
    /// The backends by name, each with a word for its state and whether that is good.
    package var backends: [(name: String, state: String, isGood: Bool)]
    /// The number of the next journal record.
    package var records: UInt64
    /// The latest checkpoint of the journal; nil if there is none yet.
    package var checkpoint: (time: WallTime, through: UInt64)?

    /// Creates a state.
    package init(
        obstacle: String?, warning: String?, backends: [(name: String, state: String, isGood: Bool)], records: UInt64,
        checkpoint: (time: WallTime, through: UInt64)?
    ) {
        self.obstacle = obstacle
        self.warning = warning
        self.backends = backends
        self.records = records
        self.checkpoint = checkpoint
    }
}

/// The overview: whether the gateway works, and what happens now.
struct OverviewPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    let health: @Sendable () async -> ConsoleHealth

    /// Shows the overview.
    func overview(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let requester = try context.requester()
        let health = await health()
        let sends = try await queries.list("sends list", limit: 12, by: requester)
        let refusals = try await queries.list("refusals list", limit: 6, by: requester)
        var model: PageModel = [
            "isReady": health.obstacle == nil, "obstacle": health.obstacle ?? "",
            "backends": health.backends.map { backend -> PageModel in
                ["name": backend.name, "state": backend.state, "mark": backend.isGood ? "good" : "bad"]
            },
            "records": PageValues.number(health.records), "rows": sends.items.map(CallRows.send),
            "isEmpty": sends.items.isEmpty, "refusals": refusals.items.map(CallRows.refusal),
            "hasRefusals": !refusals.items.isEmpty, "live": "/live?kind=sends", "isSends": true,
        ]
        if let warning = health.warning { model["warning"] = warning }
        if let checkpoint = health.checkpoint {
            model["checkpoint"] = PageValues.time(checkpoint.time.description)
            model["signed"] = PageValues.number(checkpoint.through)
        }
        return renderer.page("overview", title: "Overview", for: user, model)
    }
}
