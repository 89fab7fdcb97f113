import Foundation
import GatewayCore
import GatewaySupport
import StaticUsers

/// A comparison of wrong passwords for names in the users file and for unknown names.
struct UserTiming {
    /// sha512crypt hashes with 1,000 rounds and salts of equal length; no sample contains their passwords.
    private static let users = [
        "alice":
            "$6$rounds=1000$timingsaltalice1$OulDVQJqeFNcb7qN2NvcI6J7eubQFoSayx69PTbRC5AU6AUQ7O6ZsQYruZ84LJwbJtOsGij/RcFKCD0fHTBbj.",
        "bobby":
            "$6$rounds=1000$timingsaltbob002$RD2VrBHxGypgnHgBNeHNOp8d4VIeO7ZqVmLBHprHi/W28Cftk0T7IWjdVwHiCCn1JTIo1Fp0AQuOxKJYljo4S.",
        "carol":
            "$6$rounds=1000$timingsaltcarol3$IC6Xn2ArijRrQXQQIiqmwPw5LQsGIgxi5Ln8cDb79thH.twxA1oCFS28ABwz2/wRwy3hYUCQwm4tOQblJ0Nen1",
        "david":
            "$6$rounds=1000$timingsaltdave04$ivmBlqIVcX3b6aSwLmMAdKBlZ.iGwRgMg7CAmzzUXNKuiGDdeDblByBpyjvhA/ufSQ8VtOEeb5fX.AbouwhGc0",
    ]

    private let last: any Authenticator
    private let notLast: any Authenticator

    init() async throws {
        let directory = try TemporaryDirectory()
        let lines = Self.users.sorted { $0.key < $1.key }.map { "  \($0.key): { hash: \"\($0.value)\" }\n" }
        let file = try directory.write("users:\n" + lines.joined(), to: "users.yaml")
        last = try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: .ofBenchmarks())
        notLast = try await StaticUsersPlugin.makeAuthenticator(
            .init(file: file), context: .ofBenchmarks(isLastOfItsKind: false))
    }

    /// Names of equal length, each with a different wrong password.
    func knownAndUnknown(_ count: Int) -> Comparison {
        Comparison(
            name: "a known and an unknown user, \(count) samples each", first: Self.known(count),
            second: Self.unknown(count), expected: .rejected(.wrong),
            verify: { [last] in await last.authenticate($0, from: .ofBenchmarks) })
    }

    /// A control: if another authenticator handles names that the file lacks, this one does no work for them.
    func control(_ count: Int) -> Comparison {
        Comparison(
            name: "a known user and a user of another authenticator", first: Self.known(count),
            second: Self.unknown(count), expected: nil,
            verify: { [notLast] in await notLast.authenticate($0, from: .ofBenchmarks) })
    }

    private static func known(_ count: Int) -> [Credential] {
        let names = Array(users.keys)
        return (0..<count).map { _ in login(names[Int.random(in: names.indices)]) }
    }

    private static func unknown(_ count: Int) -> [Credential] {
        (0..<count).map { _ in
            var name = letters(5)
            while users[name] != nil { name = letters(5) }
            return login(name)
        }
    }

    private static func login(_ user: String) -> Credential {
        .password(user: LoginName(user), password: Secret(letters(16).utf8))
    }

    private static func letters(_ count: Int) -> String {
        String(
            decoding: (0..<count).map { _ in UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z")) }, as: UTF8.self)
    }
}
