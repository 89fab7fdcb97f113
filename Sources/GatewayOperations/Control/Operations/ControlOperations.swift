package import GatewayCore
package import Logging
internal import Synchronization

/// The operations of a gateway by name, and the processing that all of them share.
package final class ControlOperations: Sendable {
    private let operations: [String: any ControlOperation]
    private let journal: any Journal
    private let logger: Logger
    private let ids = Mutex(CallIDGenerator())

    package init(_ operations: [any ControlOperation], journal: any Journal, logger: Logger) {
        self.operations = Dictionary(operations.map { (type(of: $0).name, $0) }) { first, _ in first }
        self.journal = journal
        self.logger = logger
    }

    /// Returns whether the request starts an operation that runs until its peer disconnects.
    func isStream(_ request: ControlRequest) -> Bool {
        operations[request.operation].map { type(of: $0).isStream } ?? false
    }

    /// Carries out a request and returns the final line of its response.
    ///
    /// - Parameter write: Writes a line of the response.
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
                throw .malformed("Unknown operation.")
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
