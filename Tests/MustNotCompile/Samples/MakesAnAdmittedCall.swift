// expect: 'AdmittedCall' initializer is inaccessible
// Only the limits make an admitted call.
@testable import Gateway

func admit(_ call: consuming DeduplicatedCall) -> AdmittedCall {
    AdmittedCall(call, members: nil)
}
