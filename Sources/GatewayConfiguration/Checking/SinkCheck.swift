internal import AuditSinks
internal import Foundation
internal import GatewaySupport
internal import SegmentArchive

extension DirectoryCheck {
    /// Returns the problems with the paths of audit sinks and of the archive: files and cursors that cannot be written,
    /// and sockets that do not exist.
    func problems(with journal: ServerConfiguration.JournalSection) -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        for (index, sink) in journal.sinks.enumerated() {
            let path = "journal.sinks[\(index)]"
            let cursor = SinkCursor(sink: sink.name, journal: journal.directory).path
            problems += [problem(withFile: cursor, under: path)].compactMap(\.self)
            switch sink.target {
            case .store: break
            case .file(let file):
                problems += [problem(withFile: file, under: "\(path).file.path")].compactMap(\.self)
                if SinkFile.isForeign(file) {
                    problems.append(
                        fault(
                            "\(file) contains something other than records; use a path of its own",
                            under: "\(path).file.path"))
                }
            case .syslog(let settings):
                switch settings.address {
                case .datagram(let socket), .stream(let socket):
                    guard !FileManager.default.fileExists(atPath: socket) else { continue }
                    problems.append(
                        ConfigurationProblem(
                            at: SourceLocation(file: self.file), path: "\(path).syslog.address",
                            "\(socket) does not exist; records wait in the journal until it does", severity: .warning))
                case .tls: continue
                }
            case .webhook: continue
            }
        }
        if journal.archive != nil {
            let cursor = ArchiveCursor(journal: journal.directory).path
            problems += [problem(withFile: cursor, under: "journal.archive")].compactMap(\.self)
        }
        return problems
    }

    /// Returns the problem with a file that is written, or created in its directory; nil if there is none.
    private func problem(withFile path: String, under place: String) -> ConfigurationProblem? {
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) {
            if isDirectory.boolValue { return fault("\(path) is a directory", under: place) }
            guard FileManager.default.isWritableFile(atPath: path) else {
                return fault("\(path) cannot be written by this user", under: place)
            }
        }
        return problem(with: (path as NSString).deletingLastPathComponent, under: place)
    }
}
