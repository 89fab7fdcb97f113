internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// The files of authenticators and certificates, which are reloaded when they change.
struct WatchedFiles {
    private let subjects: [any ReloadableFiles]
    private var watches: [FileChangeDetector]
    private var problemsByFile: [[ConfigurationProblem]]
    /// Whether the next check reloads all files, because one may have changed since it was first read.
    private var isFirst = true
    private let logger: Logger

    init(_ subjects: [any ReloadableFiles], logger: Logger) {
        self.subjects = subjects
        watches = subjects.map { FileChangeDetector($0.files) }
        problemsByFile = subjects.map { _ in [] }
        self.logger = logger
    }

    /// The problems of the last reload of each file.
    var problems: [ConfigurationProblem] { problemsByFile.flatMap(\.self) }

    /// Reloads the files that have changed and returns whether any reload succeeded.
    ///
    /// - Parameter all: Whether to reload all files, changed or not.
    mutating func reloadChanged(all: Bool) async -> Bool {
        let all = all || isFirst
        isFirst = false
        var hasChanged = false
        for (index, subject) in subjects.enumerated() {
            // Checked before the reload, so the next check detects a change during the reload.
            let isDue = watches[index].checkForChanges() || all
            // A failed reload is repeated at each check. It may have failed only because no thread was free, and a user
            // who was disabled in the file must not stay enabled until the file changes again.
            guard isDue || !problemsByFile[index].isEmpty else { continue }
            let problems = await subject.reload()
            if problems.isEmpty { hasChanged = true }
            let isNew = problems != problemsByFile[index]
            problemsByFile[index] = problems
            for problem in problems {
                let metadata: Logger.Metadata = ["problem": "\(problem)"]
                if problem.severity == .error, isDue || isNew { logger.error("File rejected", metadata: metadata) }
                if problem.severity == .warning, isNew { logger.warning("File not applied yet", metadata: metadata) }
            }
        }
        return hasChanged
    }
}
