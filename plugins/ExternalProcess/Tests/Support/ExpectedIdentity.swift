import ExternalProcess
import GatewayCore
import GatewayTesting

func identity(_ user: String, groups: [String] = []) -> AuthenticationOutcome {
    .accepted(user, groups: groups, by: ExternalProcessPlugin.name)
}
