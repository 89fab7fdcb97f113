package import GatewaySupport
package import NIOCore

extension ByteBuffer {
    /// Creates a buffer from the bytes that `write` appends. `write` runs a second time if there are more than
    /// expected.
    ///
    /// - Parameter length: The expected maximum number of bytes.
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
