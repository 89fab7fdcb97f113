import GatewayCore
import GatewaySupport
import Testing

@Suite struct SecretTests {
    // The type is not private, because the name of a private type is printed with an address that may contain any
    // digits.
    struct Holder { var secret: Secret }

    @Test("A secret never appears in printed text") func printsNothing() {
        let secret = Secret("hunter2".utf8)
        var dumped = ""
        dump(secret, to: &dumped)
        dump(Holder(secret: secret), to: &dumped)
        dump([Credential.password(user: LoginName("alice"), password: secret)], to: &dumped)
        let texts = [
            "\(secret)", String(describing: secret), String(reflecting: secret), "\(Holder(secret: secret))",
            String(reflecting: [secret]), "\(Credential.bearer(token: secret))", "\(Optional(secret) as Any)", dumped,
        ]
        for text in texts {
            #expect(!text.contains("hunter2"))
            // The bytes do not appear as numbers either.
            #expect(!text.contains("104") && !text.contains("117"))
        }
        #expect(Mirror(reflecting: secret).children.isEmpty)
    }

    @Test("Secrets compare by their bytes and lend them")
    func secretsCompareByTheirBytesAndLendThem() {
        let secret = Secret([1, 2, 3])
        #expect(secret.isEqual(to: Secret([1, 2, 3])))
        #expect(!secret.isEqual(to: Secret([1, 2, 4])))
        #expect(!secret.isEqual(to: Secret([1, 2])))
        #expect(secret.count == 3)
        #expect(secret.withUnsafeBytes { Array($0) } == [1, 2, 3])
        #expect(secret.withBytes { $0.count } == 3)
        #expect(Secret([]).count == 0)
        #expect(Secret([]).isEqual(to: Secret([])))
    }

    @Test("A copy of a secret keeps the bytes alive") func aCopyOfASecretKeepsTheBytesAlive() {
        var copy: Secret?
        do {
            let secret = Secret([9, 9])
            copy = secret
        }
        #expect(copy?.withUnsafeBytes { Array($0) } == [9, 9])
        copy = nil
    }
}
