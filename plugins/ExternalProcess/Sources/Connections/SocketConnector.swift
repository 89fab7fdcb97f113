internal import GatewayCore
internal import GatewaySupport
internal import NIOCore
internal import NIOPosix

/// Connects to the process. It checks the socket's file before each connection, because the file may have been
/// replaced since the start.
struct SocketConnector: Sendable {
    let path: String
    let loop: any EventLoop
    let blockingPool: BlockingPool

    /// Connects with the handler. Called on the loop, where the future completes too.
    func connect(_ handler: ProcessConnectionHandler) -> EventLoopFuture<Void> {
        let handler = NIOLoopBound(handler, eventLoop: loop)
        let (path, loop, blockingPool) = (path, loop, blockingPool)
        return loop.makeFutureWithTask {
            if let fault = try await blockingPool.run({ SocketFile.fault(at: path) }) { throw fault }
        }.flatMap {
            ClientBootstrap(group: loop).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let decoder = ByteToMessageHandler(FrameDecoder(), maximumBufferSize: 4 + Frame.longest)
                    try channel.pipeline.syncOperations.addHandlers(decoder, handler.value)
                }
            }.connect(unixDomainSocketPath: path)
        }.map { _ in }
    }
}
