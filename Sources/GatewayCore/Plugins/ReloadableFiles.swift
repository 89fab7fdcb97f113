/// Something that lives on files, and reads them again while the gateway serves.
public protocol ReloadableFiles: Sendable {
    /// The files whose change calls for a reload.
    var files: [String] { get }

    /// Reads the files again: what they say now counts from here on. Where they are broken everything stays as it was, and the
    /// problems are the answer.
    ///
    /// Called when a file has changed and on SIGHUP, on any thread, never twice at once.
    func reload() async -> [ConfigurationProblem]
}
