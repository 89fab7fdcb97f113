internal import GatewayCore

/// What clients may name: the platforms of registrations and sends that some upstream serves.
struct ServedPlatforms: Sendable {
    /// The names in the `Platform` field of a registration.
    let platformNames: PlatformIdentifiers
    /// The names in the `pns` parameter of a send.
    let pnsNames: PlatformIdentifiers
    /// Whether any upstream delivers sends at a later time.
    let schedulesSends: Bool
    // Both indexed by `PushService.index`.
    private let isServed: [Bool]
    private let isScheduled: [Bool]

    /// Creates the platforms of upstreams.
    init(_ upstreams: [UpstreamRules]) {
        platformNames = PlatformIdentifiers(upstreams.map { ($0.backend.platformNames, $0.services) })
        pnsNames = PlatformIdentifiers(upstreams.map { ($0.backend.pnsNames, $0.services) })
        let scheduled = upstreams.filter(\.backend.schedulesSends).reduce(into: Set<PushService>()) {
            $0.formUnion($1.services)
        }
        let served = upstreams.reduce(into: Set<PushService>()) { $0.formUnion($1.services) }
        schedulesSends = !scheduled.isEmpty
        isServed = PushService.allCases.map(served.contains)
        isScheduled = PushService.allCases.map(scheduled.contains)
    }

    /// Returns whether an upstream serves the push service.
    func serves(_ service: PushService) -> Bool { isServed[service.index] }

    /// Returns whether the upstream of the push service delivers sends at a later time.
    func schedules(_ service: PushService) -> Bool { isScheduled[service.index] }
}
