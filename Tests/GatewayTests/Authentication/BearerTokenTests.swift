import GatewayCore
import NIOCore
import Testing

@testable import Gateway

/// What is a bearer token at all (RFC 6750, section 2.1): many of its bytes are looked at together, so each has to be seen at each
/// place.
@Suite struct BearerTokenTests {
    private func isTaken(_ token: [UInt8]) -> Bool {
        (try? PresentedCredential(ByteBuffer(bytes: Array("Bearer ".utf8) + token), names: NameRules())) != nil
    }

    @Test("each byte at each place")
    func eachByte() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=".utf8)
        for byte in UInt8.min ... .max where byte != 0x20 {
            for place in [0, 1, 7, 15, 16, 31, 32, 33, 47, 63, 64, 69] {
                var token = [UInt8](repeating: UInt8(ascii: "a"), count: 70)
                token[place] = byte
                #expect(isTaken(token) == alphabet.contains(byte), "\(byte) at \(place)")
            }
        }
    }

    @Test("at any length but none")
    func lengths() {
        for length in 1...80 { #expect(isTaken([UInt8](repeating: UInt8(ascii: "."), count: length))) }
        #expect(!isTaken([]))
    }
}
