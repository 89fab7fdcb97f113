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
        writeWithUnsafeMutableBytes(minimumWritableBytes: length) { buffer in
            var writer = ByteWriter(buffer.bindMemory(to: UInt8.self))
            write(&writer)
            needed = writer.count
            return writer.isComplete ? needed : 0
        }
        if readableBytes < needed { self.init(expecting: needed, from: allocator, write) }
    }
}

extension ByteWriter {
    /// Appends the text with every byte except the unreserved characters percent-encoded (RFC 3986, section 2.3).
    mutating func append(percentEncoding text: String) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                append(byte)
            default:
                let (high, low) = byte.hexDigits
                append("%")
                append(high)
                append(low)
            }
        }
    }
}
