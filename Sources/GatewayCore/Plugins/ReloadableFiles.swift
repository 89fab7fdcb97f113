public import GatewaySupport

/// A component that is based on files and can reload them while the gateway runs.
public protocol ReloadableFiles: Sendable {
    /// The files whose change triggers a reload.
    var files: [String] { get }

    /// Reads the files again and applies them. If they are invalid, nothing changes and the problems are returned.
    ///
    /// Called when a file has changed and on SIGHUP, on any thread, never concurrently.
    func reload() async -> [ConfigurationProblem]
}
