// expect: initializer is inaccessible due to 'fileprivate' protection level
// Only the journal makes a recorded plan.
@testable import Gateway

func record(_ plan: consuming UpstreamPlan) -> RecordedPlan {
    RecordedPlan(plan)
}
