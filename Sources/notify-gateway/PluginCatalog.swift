import GatewayServer
import HMACToken
import StaticUsers

extension PluginCatalog {
    /// Every plug-in that the program has. The only place that names them.
    static let all = PluginCatalog([
        StaticUsersPlugin.self,
        HMACTokenPlugin.self,
    ])
}
