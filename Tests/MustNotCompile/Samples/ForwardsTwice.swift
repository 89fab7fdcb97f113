// expect: 'recorded' consumed more than once
// A recorded plan is forwarded once.
@testable import Gateway

func forward(_ recorded: consuming RecordedPlan, _ forwarding: Forwarding) async {
    _ = await forwarding.forward(recorded)
    _ = await forwarding.forward(recorded)
}
