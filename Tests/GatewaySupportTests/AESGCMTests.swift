import Foundation
import GatewaySupport
import Testing

@Suite("AES-GCM") struct AESGCMTests {
    private static func bytes(_ hex: String) -> [UInt8] {
        var digits = hex[...]
        var bytes: [UInt8] = []
        while let byte = UInt8(digits.prefix(2), radix: 16) {
            bytes.append(byte)
            digits = digits.dropFirst(2)
        }
        return bytes
    }

    @Test("A value of the specification's test case 16 is opened")
    func knownAnswer() throws {
        let cipher = try #require(
            AESGCM(key: Secret(Self.bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))))
        let sealed = Self.bytes(
            "cafebabefacedbaddecaf888522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b"
                + "1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b")
        let plain = Self.bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657"
                + "ba637b39")
        #expect(cipher.open(sealed, context: Self.bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")) == plain)
    }

    @Test(
        "A value is opened only as it was sealed, under its key and with its context",
        arguments: [0, 1, 16, 17, 16_384])
    func changes(_ length: Int) throws {
        let cipher = try #require(AESGCM(key: Secret(Array(repeating: 1, count: 32))))
        let other = try #require(AESGCM(key: Secret(Array(repeating: 2, count: 32))))
        let plain = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let sealed = try #require(cipher.seal(plain, context: [1, 2]))
        #expect(sealed.count == length + AESGCM.overhead)
        #expect(cipher.open(sealed, context: [1, 2]) == plain)
        #expect(other.open(sealed, context: [1, 2]) == nil)
        for context in [[], [1], [1, 3], [1, 2, 0]] as [[UInt8]] {
            #expect(cipher.open(sealed, context: context) == nil)
        }
        for index in stride(from: 0, to: sealed.count, by: max(1, sealed.count / 64)) {
            var changed = sealed
            changed[index] ^= 1
            #expect(cipher.open(changed, context: [1, 2]) == nil)
        }
        for end in [0, 1, AESGCM.overhead - 1, sealed.count - 1] where end < sealed.count {
            #expect(cipher.open(Array(sealed.prefix(end)), context: [1, 2]) == nil)
        }
    }

    @Test("No two sealed values have the same nonce")
    func nonces() throws {
        let cipher = try #require(AESGCM(key: Secret(Array(repeating: 1, count: 32))))
        let nonces = Set((0..<10_000).compactMap { _ in cipher.seal([7], context: []).map { Array($0.prefix(12)) } })
        #expect(nonces.count == 10_000)
    }

    /// Both copies of a cloned virtual machine have the same generator in libcrypto's memory, so both draw the same numbers. Here
    /// each draw is the same.
    @Test("The nonce does not depend on the generator in libcrypto's memory")
    func nonceAfterClone() throws {
        typealias Bytes = @convention(c) (UnsafeMutablePointer<UInt8>, CInt) -> CInt
        typealias SetMethod = @convention(c) (UnsafePointer<UnsafeRawPointer?>?) -> CInt
        let symbol = try #require(dlsym(dlopen("libcrypto.so.3", RTLD_NOW), "RAND_set_rand_method"))
        let setMethod = unsafeBitCast(symbol, to: SetMethod.self)
        let repeated: Bytes = { bytes, count in
            bytes.update(repeating: 7, count: Int(count))
            return 1
        }
        let bytes = unsafeBitCast(repeated, to: UnsafeRawPointer.self)
        // The members of RAND_METHOD: seed, bytes, cleanup, add, pseudorand, status.
        let method: [UnsafeRawPointer?] = [nil, bytes, nil, nil, bytes, nil]
        let cipher = try #require(AESGCM(key: Secret(Array(repeating: 1, count: 32))))
        try method.withUnsafeBufferPointer { method in
            #expect(setMethod(method.baseAddress) == 1)
            defer { #expect(setMethod(nil) == 1) }
            let sealed = try [#require(cipher.seal([7], context: [])), #require(cipher.seal([7], context: []))]
            #expect(sealed[0] != sealed[1] && sealed[0].prefix(12) != sealed[1].prefix(12))
        }
    }

    @Test("Only a key of 32 bytes makes a cipher", arguments: [0, 16, 31, 33])
    func keys(_ length: Int) { #expect(AESGCM(key: Secret(Array(repeating: 1, count: length))) == nil) }
}
