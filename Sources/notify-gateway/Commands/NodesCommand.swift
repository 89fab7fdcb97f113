import ArgumentParser
import GatewayCore
import GatewayOperations
import GatewaySupport

/// `nodes`: lists the gateways that share the store of the running gateway.
struct NodesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes", abstract: "List the gateways that share a store in PostgreSQL.",
        discussion: """
            Each row is a gateway that runs or has run in the last seven days. SEEN is the number of seconds since its \
            last sign of life. LAG is the number of changes of sessions and revocations that it has not applied yet. \
            ACCOUNTS says whether its users files agree with those of the gateway that is asked.

            Example: notify-gateway nodes --config gateway.yaml
            """)

    @OptionGroup var gateway: ControlOption

    func run() async throws {
        var table = ResultTable([
            .init("host", "HOST"), .init("node", "NODE"), .init("version", "VERSION"), .init("fence", "FENCE"),
            .init("state", "STATE"), .init("seen", "SEEN"), .init("lag", "LAG"), .init("accounts", "ACCOUNTS"),
        ])
        let fault = try await gateway.send(ControlRequest("nodes list")) { item in
            table.add(item)
            if gateway.results.json { try gateway.results.print(item) }
        }
        if let fault { throw fault }
        if table.isEmpty { return Console.printMessage("This gateway is alone: it shares its store with no other.") }
        if !gateway.results.json { try Console.printResult(table.text) }
    }
}
