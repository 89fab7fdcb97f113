internal import GatewayCore
public import GatewaySupport

/// The file of the key for the journal's message digests. It is stored beside the ledger's key. If it were in the
/// journal's directory, a copy of the journal would include the key, and message texts could be guessed from their
/// digests.
public enum DigestKeyFile {
    /// Returns the path of the digest key for the ledger.
    public static func path(ofLedger file: String) -> String { "\(file).digest.key" }

    /// Reads the key, or creates one. Moves a key that an earlier version left in the journal's directory. Blocks.
    /// Called at startup and by commands that hold the ledger's lock.
    ///
    /// A crash during the move is harmless: the old file is removed only once the new one is on disk, and the next call
    /// finishes the move.
    ///
    /// - Parameter mayCreate: Whether a missing key is created, for a journal without records. Not if other gateways use one
    ///   that is the same for all.
    /// - Returns: The key from the new place, and a warning if the old place contains a different key. The old file is
    ///   then left there and not used.
    public static func loadOrCreate(
        ledger file: String, journal directory: String, mayCreate: Bool = true
    ) throws(KeyFile.Failure) -> (key: Secret, warning: String?) {
        let (path, former) = (path(ofLedger: file), "\(directory)/digest.key")
        var warning: String?
        do throws(FileFailure) {
            let known = try PrivateFiles.read(path, atMost: KeyFile.byteCount)
            let old = try PrivateFiles.read(former, atMost: KeyFile.byteCount)
            if known == nil, old == nil, !mayCreate {
                throw FileFailure(unfit: path, "is missing; copy the file from a gateway that uses the store")
            }
            if known == nil, old == nil, try JournalFile.hasSegments(in: directory) {
                throw FileFailure(
                    unfit: path,
                    "is missing, and the journal has records under it, by which a repeated send with an idempotency key is "
                        + "known; put the file back from a backup. If it is lost, repetitions go out again: create another one "
                        + "(head -c 32 /dev/urandom > FILE, chmod 600 FILE)")
            }
            if let old {
                guard old.count == KeyFile.byteCount else {
                    throw FileFailure(unfit: former, "does not contain a key of 32 bytes")
                }
                if known == nil { try PrivateFiles.write(old, toNew: path) }
                if known ?? old == old {
                    try PrivateFiles.remove(former)
                    try PrivateFiles.synchronizeDirectory(directory)
                } else {
                    warning = "\(former) is ignored: \(path) contains another key"
                }
            }
        } catch {
            throw KeyFile.Failure(description: error.description)
        }
        return (try KeyFile.open(path, mayCreate: mayCreate), warning)
    }
}
