import GatewayTesting

@testable import Gateway
@testable import GatewayCore
@testable import GatewaySupport
@testable import HMACToken

/// An authenticator, and tokens that it accepts.
final class Tokens {
    let authenticator: any Authenticator
    let texts: [String]
    private let credentials: [Credential]
    private var next = 0

    init(count: Int) async throws {
        let files = try TestFiles()
        let key = String(
            decoding: Base64.encode((0..<32).map { _ in UInt8.random(in: .min ... .max) }, .standard), as: UTF8.self)
        let path = try files.write("keys: [{ id: k1, algorithm: HS256, secret: \"\(key)\" }]\n", to: "keys.yaml")
        let settings = HMACTokenPlugin.Settings(keys: path)
        authenticator = try await HMACTokenPlugin.makeAuthenticator(settings, context: .test(clocks: .system))
        let signer = try TokenSigner(settings)
        let now = Clocks.system.wall()
        texts = try (0..<count).map { _ in
            try signer.issue(subject: Sample.user, lifetime: .seconds(86_400), now: now).token
                .withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        credentials = texts.map { .bearer(token: Secret($0.utf8)) }
        // The first verification of a token is not cached and costs more.
        for _ in texts { _ = await verifyNext() }
    }

    var chain: AuthenticatorChain {
        AuthenticatorChain([
            .init(
                name: HMACTokenPlugin.name, credentialKinds: HMACTokenPlugin.credentialKinds,
                outcomeDependsOnPeer: HMACTokenPlugin.outcomeDependsOnPeer, authenticator: authenticator)
        ])
    }

    /// Verifies the next token in turn.
    func verifyNext() async -> Bool {
        next = next + 1 == credentials.count ? 0 : next + 1
        guard case .accepted(let identity) = await authenticator.authenticate(credentials[next], from: .documentation)
        else { return false }
        return identity.user == Sample.user
    }

    /// Verifies a token with a forged tag, and returns whether it is rejected.
    func reject() async -> Bool {
        let forged = Credential.bearer(token: Secret((texts[0].dropLast(4) + "AAAA").utf8))
        guard case .rejected = await authenticator.authenticate(forged, from: .documentation) else { return false }
        return true
    }
}

func measureTokens() {
    measureWaiting("verify-a-token-same-one") {
        try await Tokens(count: 1)
    } _: {
        await $0.verifyNext()
    }
    measureWaiting("verify-a-token-1000-in-turn") {
        try await Tokens(count: 1_000)
    } _: {
        await $0.verifyNext()
    }
    measureWaiting("verify-a-forged-token") {
        try await Tokens(count: 1)
    } _: {
        await $0.reject()
    }
}
