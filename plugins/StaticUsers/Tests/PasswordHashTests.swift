import GatewayCore
import GatewaySupport
import Testing

@testable import StaticUsers

@Suite("Password hashes")
struct PasswordHashTests {
    private static let accepted = [
        Hashes.sha512, Hashes.sha256, Hashes.bcrypt, Hashes.yescrypt, Hashes.scrypt,
        Hashes.bcrypt.replacing("$2y$", with: "$2a$"), Hashes.bcrypt.replacing("$2y$", with: "$2b$"),
    ]

    @Test("Each scheme accepts the correct password and no other", arguments: accepted)
    func matching(text: String) throws {
        let hash = try PasswordHash(text)
        try hash.checkSupport()
        #expect(hash.match(Secret("correct horse".utf8)) == .same)
        #expect(hash.match(Secret("correct hors".utf8)) == .different)
        #expect(hash.match(Secret("correct horse ".utf8)) == .different)
        #expect(hash.match(Secret("Correct horse".utf8)) == .different)
        #expect(hash.match(Secret([UInt8](repeating: 0x61, count: 1024))) == .different)
    }

    @Test(
        "Published test vectors match",
        arguments: [
            (
                "Hello world!",
                "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1"
            ),
            ("Hello world!", "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5"),
            ("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        ])
    func knownAnswers(password: String, text: String) throws {
        #expect(try PasswordHash(text).match(Secret(password.utf8)) == .same)
    }

    @Test(
        "Other schemes are named and rejected",
        arguments: [
            ("$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", "is an MD5 hash"),
            ("$apr1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", "is an MD5 hash"),
            ("{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=", "is a SHA-1 hash"),
            ("$sha1$40000$jtNX3nZ2$hBNaIXkt4wBI2o5rsi8KejSjNqIq", "is a SHA-1 hash"),
            ("$3$$8846f7eaee8fb117ad06bdd830b7586c", "is an NT hash"),
            ("rl.3StKT.4T8M", "is a DES hash"),
            ("_J9..rasmBYk8r9AiWNc", "is a DES hash"),
            (
                "$2x$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e",
                "is a bcrypt hash of the broken variant $2x$"
            ),
            ("hunter2", "is plain text or an unknown hash"),
            ("", "is plain text or an unknown hash"),
            ("$", "is plain text or an unknown hash"),
            ("$$$$$$", "is plain text or an unknown hash"),
            ("*", "is plain text or an unknown hash"),
            ("$gy$j9T$saltsalt$abc", "is plain text or an unknown hash"),
        ])
    func refusedSchemes(text: String, says: String) {
        let fault = #expect(throws: PasswordHash.Fault.self) { try PasswordHash(text) }
        #expect(
            fault?.description
                == "\(says); accepted: yescrypt ($y$), bcrypt ($2a$, $2b$, $2y$), scrypt ($7$), sha512crypt ($6$) and "
                + "sha256crypt ($5$)")
    }

    private static let malformedOrDear: [(text: String, says: String)] = [
        (Hashes.bcrypt.swapping("$04$", for: "$99$"), "has the bcrypt cost 99; allowed: 4 to 16"),
        (Hashes.bcrypt.swapping("$04$", for: "$17$"), "has the bcrypt cost 17; allowed: 4 to 16"),
        (Hashes.bcrypt.swapping("$04$", for: "$03$"), "has the bcrypt cost 3; allowed: 4 to 16"),
        (Hashes.bcrypt.swapping("$04$", for: "$4$"), "is a malformed bcrypt hash"),
        (Hashes.bcrypt.swapping("$04$", for: "$+4$"), "is a malformed bcrypt hash"),
        (String(Hashes.bcrypt.dropLast()), "is a malformed bcrypt hash"),
        (Hashes.bcrypt + "a", "is a malformed bcrypt hash"),
        (Hashes.bcrypt.swapping("rstuuj", for: "rstuvj"), "is a malformed bcrypt hash"),
        (String(Hashes.bcrypt.dropLast()) + "f", "is a malformed bcrypt hash"),
        (Hashes.sha512.swapping("1000", for: "999"), "has 999 rounds; allowed: 1000 to 5000000"),
        (Hashes.sha512.swapping("1000", for: "999999999"), "has 999999999 rounds; allowed: 1000 to 5000000"),
        (Hashes.sha512.swapping("1000", for: "01000"), "is a malformed SHA-2 crypt hash"),
        (Hashes.sha512.swapping("1000", for: "99999999999999999999"), "is a malformed SHA-2 crypt hash"),
        (Hashes.sha512.swapping("saltforalice", for: ""), "is a malformed SHA-2 crypt hash"),
        (Hashes.sha512.swapping("saltforalice", for: "salt for"), "is a malformed SHA-2 crypt hash"),
        (Hashes.sha512.swapping("saltforalice", for: "12345678901234567"), "is a malformed SHA-2 crypt hash"),
        (String(Hashes.sha512.dropLast()) + "z", "is a malformed SHA-2 crypt hash"),
        (String(Hashes.sha256.dropLast()), "is a malformed SHA-2 crypt hash"),
        (Hashes.yescrypt.swapping("j75", for: "jFT"), "needs more than 256 MiB for one login"),
        (Hashes.yescrypt.swapping("j75", for: "jzz"), "has yescrypt parameters that crypt_gensalt(3) does not write"),
        (Hashes.yescrypt.swapping("j75", for: "j75./"), "has yescrypt parameters that crypt_gensalt(3) does not write"),
        (Hashes.yescrypt.swapping("saltsalt", for: "salts"), "is a malformed yescrypt hash"),
        (Hashes.yescrypt + "$", "is a malformed yescrypt hash"),
        ("$y$$$", "is a malformed yescrypt hash"),
        (Hashes.scrypt.swapping("6U", for: "GU"), "needs more than 256 MiB for one login"),
        (Hashes.scrypt.swapping("6U....", for: "6zzzzz"), "needs more than 256 MiB for one login"),
        (Hashes.scrypt.swapping("6U....", for: "zU...."), "needs more than 256 MiB for one login"),
        (Hashes.scrypt.swapping("/....salt", for: "z....salt"), "has the scrypt parallelism 63; allowed: 1 to 16"),
        ("$7$$", "is a malformed scrypt hash"),
        ("$7$6U$", "is a malformed scrypt hash"),
    ]

    @Test("Malformed and too costly hashes are rejected without being computed", arguments: malformedOrDear)
    func refusedCosts(text: String, says: String) throws {
        let fault = #expect(throws: PasswordHash.Fault.self) { try PasswordHash(text) }
        #expect(fault?.description.hasPrefix(says) == true, "\(fault?.description ?? "accepted")")
    }

    @Test("A password is hashed with yescrypt and a new salt each time")
    func making() throws {
        let password = Secret("geheim, ünd länger".utf8)
        let first = try PasswordHash.make(password: password)
        let second = try PasswordHash.make(password: password)
        #expect(first.hasPrefix("$y$j9T$"))
        #expect(first != second)
        #expect(try PasswordHash(first).match(password) == .same)
    }

    @Test("A password that crypt(3) would truncate or reject is not hashed")
    func refusedPasswords() throws {
        #expect(throws: PasswordHash.Fault.self) { try PasswordHash.make(password: Secret([])) }
        #expect(throws: PasswordHash.Fault.self) { try PasswordHash.make(password: Secret([0x61, 0, 0x62])) }
        #expect(throws: PasswordHash.Fault.self) {
            try PasswordHash.make(password: Secret([UInt8](repeating: 0x61, count: 512)))
        }
        #expect(try PasswordHash.make(password: Secret([UInt8](repeating: 0x61, count: 511))).isEmpty == false)
    }
}

extension String {
    fileprivate func swapping(_ old: String, for new: String) -> String { replacing(old, with: new) }
}
