internal import Dispatch
package import GatewayConfiguration
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Synchronization

/// `journal verify`: verifies the hash chain and the checkpoints of the journal while the gateway writes it.
struct VerifyJournalOperation: ControlOperation {
    static let name = "journal verify"

    let verifier: JournalVerifier

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let (report, nodes) = try await verifier.verify()
        let others = nodes.map { [JSONValue.Member("gateways", .array($0.map(\.item)))] } ?? []
        try await context.send(.object(report.members + others + (report.finding?.members ?? [])))
    }
}

/// Verifies the journal of a running gateway, one verification at a time.
///
/// A verification reads the whole journal, which takes a processor for seconds or minutes. It is not cancelled: when the
/// gateway stops, it ends with the process.
package final class JournalVerifier: Sendable {
    private let journal: ServerConfiguration.JournalSection
    private let store: ConfiguredStore
    private let queue = DispatchQueue(label: "notify-gateway.verification", qos: .utility)
    private let isRunning = Atomic(false)
    private let position = Mutex<(done: UInt64, total: UInt64)?>(nil)

    /// The results for the journal, and for those of the other gateways; nil for a store with one gateway.
    typealias Results = (JournalVerification.Report, [NodeJournalVerification.Result]?)

    /// The bytes that the running verification has read, and all bytes; nil if none is running.
    package var progress: (done: UInt64, total: UInt64)? { position.withLock(\.self) }

    /// Creates a verifier of the configuration's journal.
    package init(_ configuration: ServerConfiguration) {
        journal = configuration.journal
        store = ConfiguredStore(configuration)
    }

    /// Verifies the journal with the gateway's own key and the checkpoint in the ledger, and compares the journals of other
    /// gateways that use the store.
    func verify() async throws(ControlError) -> Results {
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else {
            throw .unavailable("The journal is being verified already.")
        }
        defer {
            position.withLock { $0 = nil }
            isRunning.store(false, ordering: .releasing)
        }
        let result: Result<Results, ControlError> = await withCheckedContinuation { continuation in
            queue.async { [self] in
                let result = Result { () throws(ControlError) in try run() }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    private func run() throws(ControlError) -> Results {
        let key: Ed25519.PublicKey
        do {
            key = try SigningKeyFile.open(journal.signingKey, outside: journal.directory, mayCreate: false).publicKey
        } catch {
            throw .unavailable("The signing key of the journal cannot be read: \(error.description)")
        }
        var verification = JournalVerification(directory: journal.directory, keys: [key])
        do throws(LedgerUnavailable) {
            verification.known = try store.journalCheckpoint()
            verification.copied = try store.copyHead()
        } catch {
            throw .unavailable("The ledger cannot be used: \(error.detail)")
        }
        verification.isBeingWritten = true
        let report: JournalVerification.Report
        do {
            report = try verification.run { done, total in position.withLock { $0 = (done, total) } }
        } catch {
            throw .unavailable("The journal cannot be read: \(error.description)")
        }
        guard report.finding == nil else { return (report, nil) }
        do throws(LedgerUnavailable) {
            return (report, try store.verifyNodes(report.nodeHeads, verifiesLines: false))
        } catch {
            throw .unavailable("The journals of other gateways cannot be read: \(error.detail)")
        }
    }
}
