internal import GatewaySupport
internal import Hummingbird

/// The page of the gateways that share the store.
struct NodePages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer

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
        return row
    }
}
