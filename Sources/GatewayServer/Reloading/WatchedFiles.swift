internal import GatewayCore
internal import Logging

/// The files of authenticators and certificates: looked at, and read again where they have changed.
struct WatchedFiles {
    private let subjects: [any ReloadableFiles]
    private var watches: [FileChangeDetector]
    private var problemsByFile: [[ConfigurationProblem]]
    /// Whether the next look reads all: a file may have changed since it was first read.
    private var isFirst = true
    private let logger: Logger

    init(_ subjects: [any ReloadableFiles], logger: Logger) {
        self.subjects = subjects
        watches = subjects.map { FileChangeDetector($0.files) }
        problemsByFile = subjects.map { _ in [] }
        self.logger = logger
    }

    /// What is wrong with what was read last.
    var problems: [ConfigurationProblem] { problemsByFile.flatMap(\.self) }

    /// Has those files read that have changed, and says whether any was taken.
    ///
    /// - Parameter all: whether to read all of them, changed or not.
    mutating func look(all: Bool) async -> Bool {
        let all = all || isFirst
        isFirst = false
        var hasChanged = false
        for (index, subject) in subjects.enumerated() {
            // Looked at before the reading: what changes meanwhile is seen at the next look.
            let isAskedFor = watches[index].look() || all
            // What was not taken is tried at each look: it may have been for want of a thread alone, and a user who was
            // disabled meanwhile must not go on until the file changes once more.
            guard isAskedFor || !problemsByFile[index].isEmpty else { continue }
            let problems = await subject.reload()
            if problems.isEmpty { hasChanged = true }
            let isNews = isAskedFor || problems != problemsByFile[index]
            problemsByFile[index] = problems
            for problem in problems where isNews {
                logger.error("File rejected", metadata: ["problem": "\(problem)"])
            }
        }
        return hasChanged
    }
}
