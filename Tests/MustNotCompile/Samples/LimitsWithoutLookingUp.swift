// expect: cannot convert value of type 'AuthorizedCall' to expected argument type 'DeduplicatedCall'
// A send is not admitted before its idempotency key was looked up.
@testable import Gateway

func limit(_ call: consuming AuthorizedCall, _ limiting: Limiting) throws {
    _ = try limiting.limit(call)
}
