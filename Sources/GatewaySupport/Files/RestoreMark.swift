internal import Glibc

/// The mark of a restore in progress: a file beside the ledger. While it exists, no gateway opens the stores, because some
/// of their files may be those of before. All functions block.
package enum RestoreMark {
    /// Returns the path of the mark.
    private static func path(_ ledger: String) -> String { ledger + ".restoring" }

    /// Sets the mark and returns its path.
    package static func set(ofLedger ledger: String) throws(FileFailure) -> String {
        try PrivateFiles.makeFile(path(ledger))
        return path(ledger)
    }

    /// Removes the mark durably, if there is one.
    package static func remove(ofLedger ledger: String) throws(FileFailure) {
        guard access(path(ledger), F_OK) == 0 else { return }
        try PrivateFiles.remove(path(ledger))
        try PrivateFiles.synchronizeDirectory(PrivateFiles.parent(of: ledger))
    }

    /// Throws if a restore was interrupted. Called with the lock of the ledger's files.
    package static func rejectInterrupted(ofLedger ledger: String) throws(FileFailure) {
        guard access(path(ledger), F_OK) == 0 else { return }
        throw FileFailure(
            unfit: path(ledger),
            "exists: a restore was interrupted, so files may be missing or of before; repeat it (notify-gateway restore), or "
                + "remove this file to start with what is there")
    }
}
