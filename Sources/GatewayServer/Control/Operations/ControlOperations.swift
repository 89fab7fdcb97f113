internal import GatewayCore
internal import Logging
internal import Synchronization

/// The operations of a gateway by name, and what is the same for all of them.
final class ControlOperations: Sendable {
    private let operations: [String: any ControlOperation]
    private let journal: any Journal
    private let logger: Logger
    private let ids = Mutex(CallIDGenerator())

    init(_ operations: [any ControlOperation], journal: any Journal, logger: Logger) {
        self.operations = Dictionary(operations.map { (type(of: $0).name, $0) }) { first, _ in first }
        self.journal = journal
        self.logger = logger
    }

    /// Whether the request starts something that goes on until its peer leaves.
    func isStream(_ request: ControlRequest) -> Bool {
        operations[request.operation].map { type(of: $0).isStream } ?? false
    }

    /// Carries out a request and answers with its end.
    ///
    /// - Parameter write: takes the lines of its results.
    func carryOut(
        _ request: ControlRequest, by operatorID: UInt32,
        write: @escaping @Sendable ([UInt8]) async throws(ControlError) -> Void
    ) async -> ControlResponse {
        let call = ids.withLock { $0.next() }
        var logger = logger
        logger[metadataKey: "call"] = "\(call)"
        logger[metadataKey: "operator"] = "\(operatorID)"
        do throws(ControlError) {
            guard let operation = operations[request.operation] else {
                throw .malformed("This gateway has no such operation.")
            }
            logger[metadataKey: "operation"] = "\(type(of: operation).name)"
            let arguments = try ControlArguments(request.arguments, named: type(of: operation).arguments)
            logger.info("Operator command started")
            let context = ControlContext(operatorID: operatorID, call: call, journal: journal, write: write)
            try await operation.run(arguments, in: context)
            return .done
        } catch {
            logger.notice(
                "Operator command failed",
                metadata: ["end": "\(error.kind.rawValue)", "detail": "\(error.reason)"])
            return .failed(error)
        }
    }
}
