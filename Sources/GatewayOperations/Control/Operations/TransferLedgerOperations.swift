internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `ledger export`: writes the ledger and the texts of secure sends as lines of JSON. Carried out only while no gateway
/// runs.
struct ExportLedgerOperation: ControlOperation {
    static let name = "ledger export"
    static let arguments: Set<String> = ["file", "name"]

    let ledger: StoredLedger
    let texts: StoredSecureTexts?

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let file = try arguments.absolutePath("file")
        let record = try await context.record(
            .operatorBackup, target: String((arguments.text("name") ?? file).prefix(200)))
        do {
            let rows = try TransferFile.write(file) { try LedgerExport(ledger, texts).run($0) }
            try await context.send(.object([.init("rows", .number("\(rows)"))]))
        } catch {
            record.failed()
            throw error as? ControlError ?? .refused("The export failed: \(error.reason)")
        }
    }
}

/// `ledger import`: stores the lines of an export in an empty ledger. Carried out only while no gateway runs.
struct ImportLedgerOperation: ControlOperation {
    static let name = "ledger import"
    static let arguments: Set<String> = ["file", "name"]

    let ledger: StoredLedger
    let texts: StoredSecureTexts?

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let file = try arguments.absolutePath("file")
        let record = try await context.record(
            .operatorImport, target: String((arguments.text("name") ?? file).prefix(200)))
        do {
            let rows = try TransferFile.read(file) { try LedgerImport(ledger, texts).run($0) }
            try await context.send(.object([.init("rows", .number("\(rows)"))]))
        } catch {
            record.failed()
            throw error as? ControlError ?? .refused("The import failed, and stored nothing: \(error.reason)")
        }
    }
}
