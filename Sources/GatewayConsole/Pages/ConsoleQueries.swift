internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport

/// The operations of the gateway, as the pages request them: in the name of the user.
struct ConsoleQueries: Sendable {
    private let operations: ControlOperations

    init(_ operations: ControlOperations) { self.operations = operations }

    /// The result of a list.
    struct Page: Sendable {
        let items: [JSONValue]
        /// The position after which the next page starts; nil after the last one.
        let next: String?
    }

    /// Returns a page of a list.
    ///
    /// - Parameter arguments: The arguments by name. Those without a value, or with an empty one, are left out.
    func list(
        _ operation: String, _ arguments: [(String, String?)] = [], limit: Int, after: String? = nil,
        by requester: Operator
    ) async throws(ConsoleProblem) -> Page {
        let results = await operations.results(
            of: Self.request(operation, arguments), by: requester,
            page: ControlPage(limit: limit, after: after.flatMap { $0.isEmpty ? nil : $0 }))
        if let error = results.error { throw ConsoleProblem(error) }
        return Page(items: results.items, next: results.next)
    }

    /// Carries out an operation and returns its only result; nil without one.
    @discardableResult
    func perform(
        _ operation: String, _ arguments: [(String, String?)] = [], by requester: Operator
    ) async throws(ConsoleProblem) -> JSONValue? {
        let results = await operations.results(of: Self.request(operation, arguments), by: requester)
        if let error = results.error { throw ConsoleProblem(error) }
        return results.items.first
    }

    private static func request(_ operation: String, _ arguments: [(String, String?)]) -> ControlRequest {
        ControlRequest(
            operation,
            arguments.compactMap { name, value in
                guard let value, !value.isEmpty else { return nil }
                return .init(name, .string(value))
            })
    }
}
