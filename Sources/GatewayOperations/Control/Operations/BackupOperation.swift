internal import GatewayCore
internal import GatewayStore

/// `backup`: records that a backup is made, and writes what is in memory alone. The command reads the files itself
/// (``GatewayBackup``), because it writes where the service may have no rights.
struct BackupOperation: ControlOperation {
    static let name = "backup"
    static let arguments: Set<String> = ["target"]

    let ledger: StoredLedger

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let target = try arguments.text("target") ?? "all"
        try await context.record(.operatorBackup, target: String(target.prefix(200)))
        await ledger.writeRenewals()
    }
}
