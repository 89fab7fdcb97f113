package import GatewayCore
package import GatewaySupport
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

    /// Carries out a request.
    ///
    /// - Parameters:
    ///   - page: The part of a list that is requested; nil for the whole list.
    ///   - output: Receives the parts of the result.
    /// - Returns: nil if the operation succeeded, else the reason of its failure.
    package func carryOut(
        _ request: ControlRequest, by requester: Operator, page: ControlPage? = nil,
        output: @escaping @Sendable (ControlOutput) async throws(ControlError) -> Void
    ) async -> ControlError? {
        let call = ids.withLock { $0.next() }
        var logger = logger
        logger[metadataKey: "call"] = "\(call)"
        logger[metadataKey: "operator"] = "\(requester)"
        do throws(ControlError) {
            guard let operation = operations[request.operation] else {
                throw .malformed("Unknown operation.")
            }
            logger[metadataKey: "operation"] = "\(type(of: operation).name)"
            let arguments = try ControlArguments(request.arguments, named: type(of: operation).arguments)
            logger.info("Operator command started")
            let context = ControlContext(
                requester: requester, call: call, journal: journal, page: page, output: output)
            try await operation.run(arguments, in: context)
            return nil
        } catch {
            logger.notice(
                "Operator command failed",
                metadata: ["end": "\(error.kind)", "detail": "\(error.reason)"])
            return error
        }
    }

    /// Carries out a request and returns its results together.
    package func results(
        of request: ControlRequest, by requester: Operator, page: ControlPage? = nil
    ) async -> ControlResults {
        let collected = Mutex(ControlResults())
        let error = await carryOut(request, by: requester, page: page) { output throws(ControlError) in
            collected.withLock { $0.add(output) }
        }
        return collected.withLock { results in
            results.error = error
            return results
        }
    }
}

/// The results of an operation that are returned together.
package struct ControlResults: Sendable {
    /// The items, and after them the totals, if there are any.
    package private(set) var items: [JSONValue] = []
    /// The position after which the next page starts; nil after the last page.
    package private(set) var next: String?
    /// The reason of a failure; nil after a success. A failed operation may have results.
    package fileprivate(set) var error: ControlError?

    fileprivate mutating func add(_ output: ControlOutput) {
        switch output {
        case .item(let item), .totals(let item): items.append(item)
        case .next(let position): next = position
        }
    }
}
