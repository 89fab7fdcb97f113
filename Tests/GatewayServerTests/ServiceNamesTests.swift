import Logging
import ServiceLifecycle
import Testing

@testable import GatewayServer

@Suite("Names of services")
struct ServiceNamesTests {
    private struct Unprintable: Service, CustomStringConvertible {
        var description: String {
            Issue.record("the service was printed")
            return ""
        }

        func run() async throws {}
    }

    @Test("A service is named by its type, and what it holds is not printed")
    func names() {
        let configuration = ServiceGroupConfiguration(named: [Unprintable()], logger: Logger(label: "test"))
        #expect(configuration.services.map(\.serviceName) == ["Unprintable"])
    }
}
