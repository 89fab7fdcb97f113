internal import GatewaySupport

/// The numbers of members of an audience that a send reached, skipped, and failed to reach.
struct AudienceCounts: Sendable, Hashable {
    var accepted = 0
    var skipped = 0
    var failed = 0

    /// The counts as members of a response.
    var members: [JSONValue.Member] {
        [
            .init("accepted", .number(String(accepted))), .init("skipped", .number(String(skipped))),
            .init("failed", .number(String(failed))),
        ]
    }
}
