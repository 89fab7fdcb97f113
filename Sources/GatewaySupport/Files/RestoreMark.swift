internal import Glibc

/// The mark of a restore in progress: a file beside the ledger. While it exists, no gateway opens the stores, because some
/// of their files may be those of before. All functions block.
package enum RestoreMark {
    private static let journal = Array("journal\n".utf8)

    /// Returns the path of the mark.
    private static func path(_ ledger: String) -> String { ledger + ".restoring" }

    /// Sets the mark and returns its path.
    ///
    /// - Parameter replacesJournal: Whether the present journal is moved aside. A mark that says so keeps saying it.
    package static func set(ofLedger ledger: String, replacesJournal: Bool) throws(FileFailure) -> String {
        let replaced = try self.replacesJournal(ofLedger: ledger)
        let draft = path(ledger) + ".new"
        try PrivateFiles.remove(draft)
        try PrivateFiles.write(replacesJournal || replaced ? journal : [], toNew: draft)
        try PrivateFiles.rename(draft, to: path(ledger))
        return path(ledger)
    }

    /// Returns whether an interrupted restore was moving the journal aside, so that what is there may be a part of it.
    package static func replacesJournal(ofLedger ledger: String) throws(FileFailure) -> Bool {
        try PrivateFiles.read(path(ledger), atMost: journal.count) == journal
    }

    /// Returns whether a restore has begun to put files in place and has not ended.
    package static func isSet(ofLedger ledger: String) -> Bool { access(path(ledger), F_OK) == 0 }

    /// Removes the mark durably, if there is one.
    package static func remove(ofLedger ledger: String) throws(FileFailure) {
        guard isSet(ofLedger: ledger) else { return }
        try PrivateFiles.remove(path(ledger))
        try PrivateFiles.synchronizeDirectory(PrivateFiles.parent(of: ledger))
    }

    /// Throws if a restore was interrupted. A store calls it with the lock of its files; a start and commands also call it
    /// before they look at other files, which the restore may not have put in place.
    package static func rejectInterrupted(ofLedger ledger: String) throws(FileFailure) {
        guard isSet(ofLedger: ledger) else { return }
        throw FileFailure(
            unfit: path(ledger),
            "exists: a restore was interrupted, so files may be missing or of before; repeat it (notify-gateway restore), or "
                + "remove this file to start with what is there")
    }
}
