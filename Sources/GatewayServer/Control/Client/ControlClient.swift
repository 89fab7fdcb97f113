internal import Foundation
public import GatewayCore
internal import NIOCore
internal import NIOPosix

/// Asks a running gateway over its control socket; for commands.
public struct ControlClient: Sendable {
    let path: String
    private let patience: TimeAmount

    /// A client of the gateway that listens at the path.
    public init(path: String) { self.init(path: path, patience: .seconds(60)) }

    /// - Parameter patience: how long the gateway may take for each line of an answer that is no stream.
    init(path: String, patience: TimeAmount) {
        self.path = path
        self.patience = patience
    }

    /// Sends the request and hands over each result as it comes.
    ///
    /// - Parameters:
    ///   - request: What is asked.
    ///   - isStream: Whether results may come at any time, or never.
    ///   - onItem: Called with the results, in order.
    /// - Returns: nil where all was done, else why not.
    /// - Throws: `ControlClientError`, and what `onItem` throws.
    public func ask(
        _ request: ControlRequest, isStream: Bool = false, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        let line = request.line
        guard line.count <= ControlProtocol.longestRequest else { throw ControlClientError.tooLong }
        let channel = try await connect()
        return try await channel.executeThenClose { inbound, outbound in
            do {
                try await outbound.write(ByteBuffer(bytes: line))
            } catch {
                throw ControlClientError.brokenOff
            }
            var reader = LineReader(longest: ControlProtocol.longestAnswer)
            let silence = Silence(channel.channel, after: isStream ? nil : patience)
            defer { silence.end() }
            do {
                for try await piece in inbound {
                    silence.restart()
                    reader.append(piece.readableBytesView)
                    while let next = reader.next() {
                        guard case .complete(let line) = next, let answer = ControlResponse(line: line) else {
                            throw ControlClientError.brokenOff
                        }
                        switch answer {
                        case .item(let item): try onItem(item)
                        case .done: return nil
                        case .failed(let fault): return fault
                        }
                    }
                }
            } catch is IOError {
                // A reset is an end like any other: one without the last line.
            }
            throw silence.isBroken ? ControlClientError.brokenOff : ControlClientError.silent
        }
    }
}
