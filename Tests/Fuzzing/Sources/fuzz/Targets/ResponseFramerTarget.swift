internal import Gateway
internal import NIOCore

@testable internal import GatewayHTTP

/// The end of a response depends on the bytes alone, not on how the network cuts them, and its body is never longer than the limit.
///
/// The first byte of the input selects the length of the pieces that the remaining bytes are cut into.
enum ResponseFramerTarget: FuzzTarget {
    private static let bodyLimit = 4096

    static func run(_ input: [UInt8]) {
        guard let first = input.first else { return }
        let bytes = input[1...]
        let whole = result(of: [bytes])
        let cut = result(of: RequestFramerTarget.pieces(of: bytes, length: Int(first) + 1))
        guard whole == cut else { propertyFails("whole: \(whole ?? "nothing"); cut: \(cut ?? "nothing")") }
    }

    private static func result(of pieces: [ArraySlice<UInt8>]) -> String? {
        var framer = ResponseFramer(bodyLimit: bodyLimit)
        for piece in pieces {
            switch framer.receive(ByteBuffer(bytes: piece)) {
            case .needMore: continue
            // Bytes behind the response make the connection unusable where they arrive with it; where they arrive later, the pool
            // notices them. So only the response itself is compared.
            case .response(let response, _):
                guard response.body.readableBytes <= bodyLimit else {
                    propertyFails("a body of \(response.body.readableBytes) bytes")
                }
                return "\(response.status) \(Array(response.body.readableBytesView))"
            case .fault(let fault): return fault.detail
            }
        }
        return nil
    }
}
