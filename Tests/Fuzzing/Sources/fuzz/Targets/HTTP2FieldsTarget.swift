internal import NIOCore
internal import NIOHPACK

@testable internal import GatewayHTTP

/// A head that the reader of HTTP/2 fields accepts holds no control character, and each of its places lies within its bytes.
///
/// Each line of the input is one field: the name up to the first colon behind the first byte, the value behind it.
enum HTTP2FieldsTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        let fields = input.split(separator: 0x0A, omittingEmptySubsequences: true).map { line in
            let colon = line.dropFirst().firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
            return (
                String(decoding: line[..<colon], as: UTF8.self),
                String(decoding: line[colon...].dropFirst(), as: UTF8.self)
            )
        }
        for source in [nil, TrustedProxies.Source.xForwardedFor, .forwarded] {
            guard
                let reader = try? HTTP2RequestReader(
                    HPACKHeaders(fields), limits: ListenerConfiguration.Limits(), trustedProxy: source)
            else { continue }
            let count = reader.bytes.readableBytes
            let places = [reader.head.path, reader.head.query, reader.head.authority, reader.head.host].compactMap {
                $0
            }
            for place in places where place.upperBound > count {
                propertyFails("a place ends at \(place.upperBound) of \(count) bytes")
            }
            for byte in reader.bytes.readableBytesView where byte < 0x20 && byte != 0x09 || byte == 0x7F {
                propertyFails("the head holds the byte \(byte)")
            }
        }
    }
}
