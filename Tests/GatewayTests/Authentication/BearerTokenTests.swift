import GatewayCore
import NIOCore
import Testing

@testable import Gateway

/// The syntax of bearer tokens (RFC 6750, section 2.1). The check examines many bytes at a time, so the tests place
/// each byte at each position.
@Suite struct BearerTokenTests {
    private func isTaken(_ token: [UInt8]) -> Bool {
        (try? PresentedCredential(ByteBuffer(bytes: Array("Bearer ".utf8) + token), names: NameRules())) != nil
    }

    @Test("Each byte is accepted or rejected at each position")
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

    @Test("A token of any length except zero is accepted")
    func lengths() {
        for length in 1...80 { #expect(isTaken([UInt8](repeating: UInt8(ascii: "."), count: length))) }
        #expect(!isTaken([]))
    }
}
