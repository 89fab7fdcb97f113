internal import AsyncHTTPClient
internal import Foundation
internal import GatewayConfiguration
public import GatewaySupport
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Sends requests of commands to a running gateway: a client of the operator API on the control socket.
public struct OperatorClient: Sendable {
    let path: String
    private let maximumWait: TimeAmount

    /// The maximum length of a response that is not a stream of lines, in bytes: more than the largest page.
    private static let maximumResponseLength = 16 << 20
    /// The number of items that are requested in a page.
    private static let pageSize = OperatorRoute.maximumPageSize

    /// Creates a client of the gateway that listens at the path.
    public init(path: String) { self.init(path: path, maximumWait: .seconds(60)) }

    /// Creates a client.
    ///
    /// - Parameter maximumWait: The time limit for each part of a response, unless the request may take minutes.
    init(path: String, maximumWait: TimeAmount) {
        self.path = path
        self.maximumWait = maximumWait
    }

    /// Sends the request and passes on the results: of a long operation when they arrive, of a list page by page.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - mayTakeMinutes: Whether the gateway may be busy with the request for any time. The response has no time
    ///     limit.
    ///   - onItem: Called with the results, in order, and then with the totals of a long operation.
    /// - Returns: nil if the operation succeeded, else the reason of its failure.
    /// - Throws: `OperatorClientError`, and the errors of `onItem`.
    public func perform(
        _ request: ControlRequest, mayTakeMinutes: Bool = false, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        guard let route = OperatorRoute.of(request.operation) else { return .malformed("Unknown operation.") }
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5), read: mayTakeMinutes ? nil : maximumWait))
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
        do {
            let error = try await perform(request, route, with: client, onItem: onItem)
            try? await client.shutdown()
            return error
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private func perform(
        _ request: ControlRequest, _ route: OperatorRoute, with client: HTTPClient, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        var page = route.output == .page ? ControlPage(limit: Self.pageSize) : nil
        while true {
            let (target, body) = route.target(of: request, page: page)
            let response = try await send(route.method.rawValue, target, body, with: client)
            if route.output == .lines, response.status == .ok {
                return try await readLines(response.body, onItem: onItem)
            }
            let document = try await read(response)
            guard (200..<300).contains(response.status.code) else {
                guard let error = OperatorProblem.error(document) else { throw OperatorClientError.incompleteResponse }
                if case .collection(let name) = route.output { try document.elements(name).forEach(onItem) }
                return error
            }
            switch route.output {
            case .page:
                try document.elements("items").forEach(onItem)
                guard let next = document["next"]?.string else { return nil }
                page?.after = next
            case .collection(let name):
                try document.elements(name).forEach(onItem)
                return nil
            case .object, .lines:
                if response.status != .noContent { try onItem(document) }
                return nil
            }
        }
    }

    private func send(
        _ method: String, _ target: String, _ body: [UInt8]?, with client: HTTPClient
    ) async throws(OperatorClientError) -> HTTPClientResponse {
        guard let url = URL(httpURLWithSocketPath: path, uri: target) else {
            throw .unusable(path: path, detail: "the path is not valid")
        }
        if let body, body.count > OperatorRoute.maximumBodyLength { throw .tooLong }
        var request = HTTPClientRequest(url: url.absoluteString)
        request.method = HTTPMethod(rawValue: method)
        request.headers = ["Accept": "application/json", "User-Agent": "notify-gateway"]
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        // The head of a request is limited to 16 KiB by the gateway.
        guard target.utf8.count <= 7 << 10 else { throw .tooLong }
        do {
            return try await client.execute(request, deadline: .distantFuture)
        } catch {
            throw OperatorClientError(error, path: path, isConnected: false)
        }
    }

    /// Reads a response that is one JSON document; null for an empty one.
    private func read(_ response: HTTPClientResponse) async throws(OperatorClientError) -> JSONValue {
        let bytes: ByteBuffer
        do {
            bytes = try await response.body.collect(upTo: Self.maximumResponseLength)
        } catch {
            throw OperatorClientError(error, path: path, isConnected: true)
        }
        if bytes.readableBytes == 0 { return .null }
        return try Self.parse(Array(buffer: bytes))
    }

    private func readLines(
        _ body: HTTPClientResponse.Body, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        var reader = LineReader(maximumLength: OperatorRoute.maximumLineLength)
        var pieces = body.makeAsyncIterator()
        while true {
            while let line = reader.next() {
                guard case .complete(let bytes) = line else { throw OperatorClientError.incompleteResponse }
                let value = try Self.parse(bytes)
                if let item = value["item"] ?? value["totals"] {
                    try onItem(item)
                } else if value["end"]?.string == "done" {
                    return nil
                } else if value["end"]?.string == "failed", let error = value["problem"].flatMap(OperatorProblem.error)
                {
                    return error
                } else {
                    throw OperatorClientError.incompleteResponse
                }
            }
            let piece: ByteBuffer?
            do {
                piece = try await pieces.next()
            } catch {
                throw OperatorClientError(error, path: path, isConnected: true)
            }
            guard let piece else { throw OperatorClientError.incompleteResponse }
            reader.append(piece.readableBytesView)
        }
    }

    private static func parse(_ bytes: [UInt8]) throws(OperatorClientError) -> JSONValue {
        do {
            return try JSONParser(depthLimit: 32, memberLimit: 1 << 20).parse(bytes.span)
        } catch {
            throw .incompleteResponse
        }
    }
}

extension JSONValue {
    /// Returns the elements of the list in a member; none if there is no such list.
    fileprivate func elements(_ name: String) -> [JSONValue] {
        if case .array(let values)? = self[name] { values } else { [] }
    }
}
