// expect: cannot convert value of type 'ParsedCall' to expected argument type 'AuthenticatedCall'
// A call whose caller is unknown is not authorized.
@testable import Gateway

func authorize(_ call: consuming ParsedCall, _ authorization: Authorization) async throws {
    _ = try await authorization.authorize(call)
}
