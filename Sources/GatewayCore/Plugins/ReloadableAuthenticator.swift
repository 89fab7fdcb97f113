/// An authenticator that lives on files, and reads them again while it serves.
public protocol ReloadableAuthenticator: Authenticator {
    /// The files whose change calls for a reload.
    var files: [String] { get }

    /// Reads the files again: logins from here on are judged by what they say now. Where they are broken everything stays as it
    /// was, and the problems are the answer.
    ///
    /// Called when a file has changed and on SIGHUP, on any thread, never twice at once.
    func reload() async -> [ConfigurationProblem]
}
