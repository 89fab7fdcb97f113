internal import GatewayCore
internal import GatewaySupport

/// The parameter `at` of a send, the time of its delivery.
enum DeliveryTime {
    /// The longest time between a send and its delivery, in seconds: seven days, the hub's own limit.
    static let maximumDelay: Int64 = 7 * 86_400

    /// Returns the time, or nil if the query has none. Throws if the upstream of the push service schedules no sends.
    /// Whether the time is in range depends on the clock; see `check(_:now:)`.
    static func read(
        _ query: QueryParameters, of service: PushService, _ platforms: ServedPlatforms
    ) throws(Rejection) -> WallTime? {
        guard let text = query.value("at") else { return nil }
        guard platforms.schedules(service) else { throw Rejection(.malformedRequest, "an unknown query parameter") }
        guard let time = WallTime(rfc3339: text) else {
            throw Rejection(
                .malformedRequest, "at is not a time", hint: "at must be a time such as 2026-11-21T07:00:00Z.")
        }
        return WallTime(seconds: time.seconds)
    }

    /// Throws unless the time is in the future and at most seven days ahead.
    static func check(_ time: WallTime, now: WallTime) throws(Rejection) {
        guard time > now, time.seconds - now.seconds <= maximumDelay else {
            throw Rejection(
                .malformedRequest, "at is in the past or too far ahead",
                hint: "at must be in the future, at most 7 days ahead.")
        }
    }
}
