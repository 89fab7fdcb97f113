internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// One upstream, as plans refer to it.
final class PlannedUpstream: Sendable {
    /// The index in the configuration's order, which is that of the gateway's backends.
    let index: Int
    let name: UpstreamName
    let codec: any StepCodec
    /// The time limit for all requests of one call.
    let deadline: TimeAmount

    fileprivate init(index: Int, _ rules: UpstreamRules, clocks: Clocks) {
        self.index = index
        name = rules.name
        codec = rules.makeCodec(clocks: clocks)
        deadline = rules.deadline
    }
}

/// The upstreams of a gateway, and the one that serves each push service. All requests of a plan go to one upstream.
struct UpstreamTable: Sendable {
    /// Every upstream, in the order of the configuration.
    let all: [PlannedUpstream]
    /// The upstream that assigns an id to a device that does not send its handle. The tutorial's Windows clients do
    /// that. The client's id is only a label: when the device registers, the upstream of its handle assigns another.
    let withoutHandle: PlannedUpstream
    /// The hub that cancels scheduled sends; nil without one.
    let scheduling: PlannedUpstream?
    // Indexed by `PushService.index`. A service that no upstream serves has the first one here; calls for it are
    // rejected when they are parsed, and deletions of its registrations from before go there.
    private let serving: [PlannedUpstream]

    /// Creates the table. There is at least one upstream.
    init(_ rules: [UpstreamRules], clocks: Clocks) {
        // The configuration is not valid without a backend, and a list of backends not without an element.
        precondition(!rules.isEmpty, "a configuration has an upstream")
        let all = rules.enumerated().map { PlannedUpstream(index: $0, $1, clocks: clocks) }
        func serving(_ service: PushService) -> PlannedUpstream? {
            rules.firstIndex { $0.services.contains(service) }.map { all[$0] }
        }
        self.all = all
        self.serving = PushService.allCases.map { serving($0) ?? all[0] }
        withoutHandle = serving(.wns) ?? serving(.mpns) ?? all[0]
        scheduling = rules.firstIndex { $0.backend.schedulesSends }.map { all[$0] }
    }

    /// The upstream that serves the push service.
    subscript(service: PushService) -> PlannedUpstream { serving[service.index] }

    /// Returns the upstream that reserves an id for a device with this handle, or without one.
    func reserving(for handle: DeviceHandle?) -> PlannedUpstream { handle.map { self[$0.service] } ?? withoutHandle }

    /// Returns the upstream that has a registration: the one where it was made, or, if that is unknown or no longer
    /// configured, the one that serves its push service.
    func upstream(of place: RegistrationPlace?) -> PlannedUpstream {
        if let name = place?.upstream, let known = all.first(where: { $0.name == name }) { return known }
        return place?.service.map { self[$0] } ?? all[0]
    }
}
