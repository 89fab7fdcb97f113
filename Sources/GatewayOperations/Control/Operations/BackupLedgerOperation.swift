internal import Foundation
internal import GatewayCore
internal import GatewayStore

/// `ledger backup`: copies the ledger, the texts of secure sends and their keys while the ledger is in use.
struct BackupLedgerOperation: ControlOperation {
    static let name = "ledger backup"
    static let arguments: Set<String> = ["file"]

    let ledger: StoredLedger
    let texts: StoredSecureTexts?

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let file = try arguments.absolutePath("file")
        let record = try await context.record(.operatorBackup, target: String(file.prefix(200)))
        do throws(LedgerUnavailable) {
            try await ledger.backup(to: file, texts)
        } catch {
            record.failed()
            throw .refused("The backup failed: \(error.detail); it is written as uid \(geteuid())")
        }
    }
}
