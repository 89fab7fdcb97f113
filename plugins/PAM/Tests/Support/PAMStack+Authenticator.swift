import GatewayCore
import GatewaySupport
import GatewayTesting
import WorkerProcesses

@testable import PAM

extension PAMStack {
    /// Returns settings for the stack, with a long deadline.
    func settings(_ change: (inout PAMPlugin.Settings) -> Void = { _ in }) -> PAMPlugin.Settings {
        var settings = PAMPlugin.Settings(service: Self.service)
        settings.serviceDirectory = path
        settings.program = SystemTools.program
        settings.workers = 4
        settings.deadline = .seconds(30)
        change(&settings)
        return settings
    }

    func authenticator(
        _ context: PluginContext = .inRealTime(), _ change: (inout PAMPlugin.Settings) -> Void = { _ in }
    ) -> PAMAuthenticator {
        PAMAuthenticator(settings(change), context: context)
    }
}

extension PAMAuthenticator {
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

/// How often a test repeats an action that breaks a worker.
let repetitions = TestRun.count(full: 1000, otherwise: 200)
