import GatewaySupport
import NIOCore
import Testing

@testable import Gateway

@Suite struct ByteBufferWritingTests {
    @Test("The expected length does not change the content of the buffer", arguments: [0, 1, 5, 6, 7, 1024])
    func anyRoom(length: Int) {
        let buffer = ByteBuffer(expecting: length) {
            $0.append("one ")
            $0.append(decimal: 10)
        }
        #expect(String(buffer: buffer) == "one 10")
    }

    @Test("A closure that writes nothing gives an empty buffer") func empty() {
        #expect(ByteBuffer(expecting: 0) { _ in }.readableBytes == 0)
    }
}
