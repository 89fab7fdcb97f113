internal import AuditSinks
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import SegmentArchive

extension ServerConfiguration {
    /// Reads `journal`.
    static func readJournal(_ reader: ConfigurationReader?) -> JournalSection {
        defer { reader?.finish() }
        // The directory of the segments; created if it does not exist.
        let directory = reader?.path("directory") ?? "/var/lib/notify-gateway/journal"
        let section = JournalSection(
            directory: directory,
            // The free disk space in bytes below which nothing is recorded and therefore no call is forwarded.
            minimumFree: reader?.byteCount("minimum-free") ?? 256 << 20,
            // The key that signs checkpoints: 32 random bytes, created at the first start. Secret.
            signingKey: outside(directory, "signing-key", reader) ?? "\(directory).key",
            checkpointCopy: readCopy(reader, outside: directory),
            // The retention time of a segment after its last record.
            keep: reader?.duration("keep", in: .seconds(3600)...(.seconds(36_500 * 86_400))) ?? .seconds(90 * 86_400),
            // The maximum size of all segments together.
            keepBytes: reader?.byteCount("keep-size") ?? 20 << 30,
            // The receivers to which all records are sent; default: none.
            sinks: reader.map { readSinks($0, journal: directory) } ?? [],
            // The store to which finished segments are copied; default: none.
            archive: reader?.mapping("archive").flatMap(readArchive))
        if let reader { reportSharedFiles(section, reader) }
        return section
    }

    /// Reports sinks that append to another file of the journal. Two writers would mix their lines, and lines appended to
    /// the key would destroy it.
    private static func reportSharedFiles(_ section: JournalSection, _ reader: ConfigurationReader) {
        var owned = [section.signingKey: "signing-key"]
        owned[ArchiveCursor(journal: section.directory).path] = "the progress of the archive"
        if case .file(let path)? = section.checkpointCopy { owned[path] = "checkpoint-copy" }
        for sink in section.sinks {
            owned[SinkCursor(sink: sink.name, journal: section.directory).path] = "the position of \(sink.name)"
        }
        for (index, sink) in section.sinks.enumerated() {
            guard case .file(let path) = sink.target, let owner = owned[path] else { continue }
            reader.report(
                at: reader.location, under: "sinks[\(index)].file.path", "\(path) is already the file of \(owner)")
        }
    }

    /// Reads `checkpoint-copy`: `syslog`, or the path of a file that receives a copy of each checkpoint.
    private static func readCopy(_ reader: ConfigurationReader?, outside directory: String) -> CheckpointDestination? {
        guard let text = reader?.string("checkpoint-copy") else { return nil }
        if text == "syslog" { return .syslog }
        return outside(directory, "checkpoint-copy", reader).map(CheckpointDestination.file)
    }

    /// Reads a path that must be outside the journal's directory. Write access to the journal must not include this
    /// file.
    private static func outside(_ directory: String, _ name: String, _ reader: ConfigurationReader?) -> String? {
        guard let path = reader?.path(name) else { return nil }
        if SigningKeyFile.isInside(path, directory) {
            reader?.report(name, "must be outside the journal's directory")
        }
        return path
    }
}
