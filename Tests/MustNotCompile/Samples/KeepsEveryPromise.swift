// expect: nothing
// Every phase once and in order: the other samples leave one thing out or do one thing too much.
@testable import Gateway

func serve(
    _ request: ReceivedRequest, _ parsing: Parsing, _ authentication: Authentication, _ authorization: Authorization,
    _ repeating: Idempotency, _ limiting: Limiting, _ rewriting: Rewriting, _ recording: Recording,
    _ forwarding: Forwarding, _ completion: Completion
) async throws -> Response? {
    let parsed = try parsing.parse(request)
    let authenticated = try await authentication.authenticate(parsed)
    let authorized = try await authorization.authorize(authenticated)
    guard case .new(let deduplicated) = try repeating.deduplicate(authorized) else { return nil }
    let admitted = try limiting.limit(deduplicated)
    guard case .upstream(let plan) = try rewriting.rewrite(admitted) else { return nil }
    let recorded = try await recording.record(plan)
    return await completion.complete(forwarding.forward(recorded))
}
