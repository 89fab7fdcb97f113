// expect: cannot convert value of type 'AuthorizedCall' to expected argument type 'AdmittedCall'
// A call beyond its limits gets no plan.
@testable import Gateway

func rewrite(_ call: consuming AuthorizedCall, _ rewriting: Rewriting) throws {
    _ = try rewriting.rewrite(call)
}
