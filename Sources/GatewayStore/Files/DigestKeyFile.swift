public import GatewayCore

/// The file of the key under which the journal's digests of messages are made. It lies beside the ledger's key: in the journal's
/// directory it would go wherever copies of the journal go, and with it texts could be guessed from their digests.
public enum DigestKeyFile {
    /// Where the key lies that goes with a ledger.
    public static func path(ofLedger file: String) -> String { "\(file).digest.key" }

    /// Reads the key; makes one where there is none. Moves a key that an earlier program left in the journal's directory. Blocks;
    /// for starts and commands that hold the ledger.
    ///
    /// A crash at any moment leaves the key in the old place, in both, or in the new one, and the next call goes on from there:
    /// the old one is removed only when the new one is on disk.
    ///
    /// - Returns: The key; and a warning where the old place has another one, which is left alone.
    public static func open(
        ledger file: String, journal directory: String
    ) throws(KeyFile.Failure) -> (key: Secret, warning: String?) {
        let (path, former) = (path(ofLedger: file), "\(directory)/digest.key")
        var warning: String?
        do throws(FileFailure) {
            let known = try PrivateFiles.read(path, atMost: KeyFile.byteCount)
            let old = try PrivateFiles.read(former, atMost: KeyFile.byteCount)
            if let old {
                guard old.count == KeyFile.byteCount else {
                    throw FileFailure(unfit: former, "does not hold a key of 32 bytes")
                }
                if known == nil { try PrivateFiles.write(old, toNew: path) }
                if known ?? old == old {
                    try PrivateFiles.remove(former)
                    try PrivateFiles.synchronizeDirectory(directory)
                } else {
                    warning = "\(former) is not used: \(path) holds another key"
                }
            }
        } catch {
            throw KeyFile.Failure(description: error.description)
        }
        return (try KeyFile.open(path), warning)
    }
}
