import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import LDAP

/// The tests with a directory server. They run one after another, because they count processes and operations.
@Suite(
    "Logins with a directory server", .serialized, .enabled(if: Slapd.isInstalled, "slapd is not installed"),
    .timeLimit(.minutes(5)))
enum DirectoryTests {}

extension Slapd {
    /// Returns settings for the server's Unix socket, and for groups by their members.
    func settings(_ change: (inout LDAPPlugin.Settings) -> Void = { _ in }) -> LDAPPlugin.Settings {
        let server = DirectoryServer(
            url: socketURL, usesStartTLS: false, authorities: "", bindDN: Self.service,
            bindPassword: Secret(Self.servicePassword.utf8), timeout: 20_000)
        let search = AccountSearch(
            base: Self.people, scope: .subtree, userAttribute: "uid", accountFilter: "", groupBase: Self.groups,
            groupAttribute: "", groupFilter: "(member={dn})", groupName: "cn")
        var settings = LDAPPlugin.Settings(
            server: server, search: search, filter: SearchFilter(checked: "(uid={user})"), timeout: .seconds(20),
            workers: 1)
        settings.program = SystemTools.program
        change(&settings)
        return settings
    }

    func authenticator(
        _ context: PluginContext = .inRealTime(), _ change: (inout LDAPPlugin.Settings) -> Void = { _ in }
    ) -> LDAPAuthenticator {
        LDAPAuthenticator(settings(change), context: context)
    }
}

extension LDAPAuthenticator {
    /// Stops the workers and waits until they have exited.
    func stop() async {
        await withCheckedContinuation { caller in pool.stop { caller.resume() } }
    }
}

extension PluginContext {
    /// Returns a context with the system's clocks, because workers run in real time.
    static func inRealTime(names: NameRules = NameRules(), isLastOfItsKind: Bool = true) -> PluginContext {
        .test(clocks: .system, names: names, isLastOfItsKind: isLastOfItsKind)
    }
}
