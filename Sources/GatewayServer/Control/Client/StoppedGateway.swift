internal import Foundation
internal import Gateway
public import GatewayCore
internal import GatewayStore
public import Logging

/// Carries operators' requests out where no gateway runs: takes the locks of the stores, and works on them itself.
public struct StoppedGateway: Sendable {
    let configuration: ServerConfiguration
    let clocks: Clocks
    let logger: Logger

    /// For the stores that the configuration names.
    public init(configuration: ServerConfiguration, clocks: Clocks = .system, logger: Logger) {
        self.configuration = configuration
        self.clocks = clocks
        self.logger = logger
    }

    /// Carries the request out and hands over its results. What must be deleted at the backend is at the gateway's next start.
    ///
    /// - Parameter operatorID: who asks, for the record.
    /// - Returns: nil where all was done, else why not.
    public func ask(
        _ request: ControlRequest, by operatorID: UInt32, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        // Only an import has something to bring where there is nothing yet.
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
            sessions: stores.sessions, passwordCache: PasswordCache(clocks: clocks),
            throttle: LoginThrottle(clocks: clocks),
            sends: IdempotencyStore(clocks: clocks), journal: stores.journal, sweeper: sweeper, logger: logger)
        let operations = ControlOperations(
            StoreOperations(
                ledger: stores.ledger, sessions: stores.sessions, revocation: revocation, sweeper: sweeper,
                names: configuration.names, handles: HotSwappable(configuration.backend.handles), clocks: clocks
            ).all,
            journal: stores.journal, logger: logger)
        do {
            let fault = try await hand(over: request, to: operations, by: operatorID, onItem: onItem)
            await stores.close(logger: logger)
            return fault
        } catch {
            await stores.close(logger: logger)
            throw error
        }
    }

    /// Has the operations carry the request out, and hands over their results.
    func hand(
        over request: ControlRequest, to operations: ControlOperations, by operatorID: UInt32,
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
    /// What a store says of itself.
    var reason: String { OperatorMessage.of(self) }
}
