internal import GatewaySupport
internal import Hummingbird

/// The page of the gateways that share the store.
struct NodePages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer

    /// The time without a sign of life, in seconds, after which a gateway is not shown as live. A gateway shows one each
    /// second, and the others count on it for up to 15 s, because it may only be slow.
    private static let silence: Int64 = 5

    /// Lists the gateways.
    func list(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let nodes = try await queries.list("nodes list", limit: 1000, by: context.requester()).items
        return renderer.page(
            "nodes", title: "Gateways", for: user,
            [
                "nodes": nodes.map(Self.node),
                "areDifferent": nodes.contains { $0["accounts"] == .string("differ") },
            ])
    }

    private static func node(_ item: JSONValue) -> PageModel {
        guard case .object(let members) = item else { return [:] }
        var row = PageValues.model(members)
        row["isThis"] = item["state"] == .string("this")
        row["isGone"] = item["state"] == .string("gone")
        row["isSilent"] = item["state"] == .string("live") && item["seen"]?.integer ?? 0 >= silence
        return row
    }
}
