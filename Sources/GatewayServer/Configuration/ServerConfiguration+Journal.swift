internal import GatewayCore
internal import GatewayStore

extension ServerConfiguration {
    /// Reads `journal`.
    static func readJournal(_ reader: ConfigurationReader?) -> JournalSection {
        defer { reader?.finish() }
        // The directory of the segments; made where it is absent.
        let directory = reader?.path("directory") ?? "/var/lib/notify-gateway/journal"
        return JournalSection(
            directory: directory,
            // With fewer bytes free, nothing is recorded and so nothing is sent.
            minimumFree: reader?.byteCount("minimum-free") ?? 256 << 20,
            // The key that signs checkpoints: 32 random bytes, made at the first start. A secret.
            signingKey: outside(directory, "signing-key", reader) ?? "\(directory).key",
            checkpointCopy: readCopy(reader, outside: directory),
            // How long a segment is kept after its last record.
            keep: reader?.duration("keep", in: .seconds(3600)...(.seconds(36_500 * 86_400))) ?? .seconds(90 * 86_400),
            // How much all segments may have together.
            keepBytes: reader?.byteCount("keep-size") ?? 20 << 30)
    }

    /// `syslog`, or a path: where each checkpoint is written once more.
    private static func readCopy(_ reader: ConfigurationReader?, outside directory: String) -> CheckpointPlace? {
        guard let text = reader?.string("checkpoint-copy") else { return nil }
        if text == "syslog" { return .syslog }
        return outside(directory, "checkpoint-copy", reader).map(CheckpointPlace.file)
    }

    /// A path that must not lie where the journal does: whoever can change the one could change the other.
    private static func outside(_ directory: String, _ name: String, _ reader: ConfigurationReader?) -> String? {
        guard let path = reader?.path(name) else { return nil }
        if SigningKeyFile.isInside(path, directory) {
            reader?.report(name, "must lie outside the journal's directory")
        }
        return path
    }
}
