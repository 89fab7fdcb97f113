package import GatewayCore
package import NIOCore

extension ByteBuffer {
    /// A buffer of the bytes that `write` writes, which is run a second time where they are more than was expected.
    ///
    /// - Parameter length: how many bytes there will be at the most, nearly always.
    package init(
        expecting length: Int, from allocator: ByteBufferAllocator = ByteBufferAllocator(),
        _ write: (inout ByteWriter) -> Void
    ) {
        self = allocator.buffer(capacity: length)
        var needed = 0
        writeWithUnsafeMutableBytes(minimumWritableBytes: length) { room in
            var writer = ByteWriter(room.bindMemory(to: UInt8.self))
            write(&writer)
            needed = writer.count
            return writer.isComplete ? needed : 0
        }
        if readableBytes < needed { self.init(expecting: needed, from: allocator, write) }
    }
}
