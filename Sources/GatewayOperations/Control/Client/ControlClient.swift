internal import Foundation
internal import GatewayCore
public import GatewaySupport
internal import NIOCore
internal import NIOPosix

/// Sends requests of commands to a running gateway over its control socket.
public struct ControlClient: Sendable {
    let path: String
    private let patience: TimeAmount

    /// Creates a client of the gateway that listens at the path.
    public init(path: String) { self.init(path: path, patience: .seconds(60)) }

    /// Creates a client.
    ///
    /// - Parameter patience: The time limit for each line of a response that is not a stream.
    init(path: String, patience: TimeAmount) {
        self.path = path
        self.patience = patience
    }

    /// Sends the request and passes on each result when it arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isStream: Whether results may arrive at any time. A stream has no time limit.
    ///   - onItem: Called with the results, in order.
    /// - Returns: nil if the operation succeeded, else the reason of its failure.
    /// - Throws: `ControlClientError`, and the errors of `onItem`.
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
                // A reset counts as the end of a connection without the final line.
            }
            throw silence.endedOtherwise ? ControlClientError.brokenOff : ControlClientError.silent
        }
    }
}
