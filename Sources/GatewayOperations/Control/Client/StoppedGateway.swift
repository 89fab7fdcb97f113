internal import Foundation
internal import Gateway
public import GatewayConfiguration
internal import GatewayCore
internal import GatewayStore
public import GatewaySupport
public import Logging

/// Carries out requests of operators while no gateway runs. It locks the stores and changes them itself.
public struct StoppedGateway: Sendable {
    let configuration: ServerConfiguration
    let clocks: Clocks
    let logger: Logger

    /// Creates a value for the stores of the configuration.
    public init(configuration: ServerConfiguration, clocks: Clocks = .system, logger: Logger) {
        self.configuration = configuration
        self.clocks = clocks
        self.logger = logger
    }

    /// Carries out the request and passes on its results. Deletions at the backend are left to the next start of the
    /// gateway.
    ///
    /// - Parameter operatorID: The uid of the operator, for the journal record.
    /// - Returns: nil if the operation succeeded, else the reason of its failure.
    public func ask(
        _ request: ControlRequest, by operatorID: UInt32, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        // Only an import is useful before the first start.
        guard
            request.operation == ImportRegistrationsOperation.name
                || FileManager.default.fileExists(atPath: configuration.ledger.file)
        else {
            return .refused(
                "\(configuration.ledger.file) does not exist: no gateway has run with this configuration yet. Nothing was changed."
            )
        }
        let stores: GatewayStores
        do {
            stores = try GatewayStores(configuration, clocks: clocks, logger: logger)
        } catch {
            return .unavailable("The stores cannot be opened: \(error.reason)")
        }
        let sweeper = RegistrationSweeper(ledger: stores.ledger, logger: logger)
        let revocation = UserRevocation(
            stores: stores, passwordCache: PasswordCache(clocks: clocks), throttle: LoginThrottle(clocks: clocks),
            sends: IdempotencyStore(clocks: clocks), sweeper: sweeper, logger: logger)
        let operations = ControlOperations(
            StoreOperations(
                ledger: stores.ledger, revocation: revocation, names: configuration.names,
                handles: HotSwappable(configuration.backend.handles), clocks: clocks
            ).all,
            journal: stores.journal, logger: logger)
        do {
            let fault = try await carryOut(request, with: operations, by: operatorID, onItem: onItem)
            await stores.close(logger: logger)
            return fault
        } catch {
            await stores.close(logger: logger)
            throw error
        }
    }

    /// Runs the operation of the request and passes on its results.
    func carryOut(
        _ request: ControlRequest, with operations: ControlOperations, by operatorID: UInt32,
        onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        let (lines, line) = AsyncStream<[UInt8]>.makeStream()
        let end = await operations.carryOut(request, by: operatorID) { bytes in line.yield(bytes) }
        line.finish()
        for await bytes in lines {
            if case .item(let item) = ControlResponse(line: bytes.dropLast()) { try onItem(item) }
        }
        if case .failed(let fault) = end { return fault }
        return nil
    }
}

extension Error {
    /// The error in words for an operator.
    var reason: String { OperatorMessage.of(self) }
}
