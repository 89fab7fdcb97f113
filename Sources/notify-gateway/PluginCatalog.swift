import ExternalProcess
import ForwardAuth
import GatewayServer
import HMACToken
import PAM
import StaticUsers

extension PluginCatalog {
    /// Every plug-in that the program has. The only place that names them.
    static let all = PluginCatalog([
        StaticUsersPlugin.self,
        HMACTokenPlugin.self,
        PAMPlugin.self,
        ExternalProcessPlugin.self,
        ForwardAuthPlugin.self,
    ])
}
