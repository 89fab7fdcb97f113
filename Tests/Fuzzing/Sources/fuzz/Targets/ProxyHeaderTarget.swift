internal import NIOCore

@testable internal import GatewayHTTP

/// A PROXY header is recognised at the same byte however much has arrived: every shorter prefix is incomplete, and every longer input
/// leaves the bytes behind the header untouched.
enum ProxyHeaderTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        var bytes = ByteBuffer(bytes: input)
        let reading = ProxyHeader.read(&bytes)
        guard case .header = reading else { return }
        let length = input.count - bytes.readableBytes
        guard bytes.readableBytesView.elementsEqual(input[length...]) else { propertyFails("bytes behind it changed") }
        for shorter in [0, 1, length / 2, length - 1] where shorter < length {
            var prefix = ByteBuffer(bytes: input[..<shorter])
            let early = ProxyHeader.read(&prefix)
            guard early == .incomplete, prefix.readableBytes == shorter else {
                propertyFails("\(early) after \(shorter) of \(length) bytes")
            }
        }
        var exact = ByteBuffer(bytes: input[..<length])
        guard ProxyHeader.read(&exact) == reading, exact.readableBytes == 0 else {
            propertyFails("the header alone differs")
        }
    }
}
