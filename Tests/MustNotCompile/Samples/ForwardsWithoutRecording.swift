// expect: cannot convert value of type 'UpstreamPlan' to expected argument type 'RecordedPlan'
// A plan that is not in the journal is not forwarded.
@testable import Gateway

func forward(_ plan: consuming UpstreamPlan, _ forwarding: Forwarding) async {
    _ = await forwarding.forward(plan)
}
