import ClientCertificate
import ExternalProcess
import ForwardAuth
import GatewayConfiguration
import HMACToken
import LDAP
import OIDC
import PAM
import StaticUsers

extension PluginCatalog {
    /// Every plug-in of the executable. No other place lists them.
    static let all = PluginCatalog([
        StaticUsersPlugin.self,
        HMACTokenPlugin.self,
        PAMPlugin.self,
        LDAPPlugin.self,
        ExternalProcessPlugin.self,
        ForwardAuthPlugin.self,
        ClientCertificatePlugin.self,
        OIDCPlugin.self,
    ])
}
