import Testing

/// A claim that a test shows: a mitigated vulnerability of the backend (`docs/vulnerabilities.md`) or a client rule
/// (`docs/contract.md`).
enum Claim: String, CaseIterable, Sendable {
    case v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18, v19, v20, v21, v22, v23, v24,
        v25, v26
    case rule1, rule2, rule3, rule4, rule5, rule6, rule7, rule8, rule9
}

/// A trait that lists the claims of a test. The test must run with all upstreams: `arguments:
/// TestUpstream.allCases` first. `ShownClaimsTests` reads the traits from the sources and compares them with
/// `Tests/CLAIMS.md`.
struct Shows: TestTrait {
    let claims: [Claim]
}

extension Trait where Self == Shows {
    static func shows(_ claims: Claim...) -> Self { Shows(claims: claims) }
}
