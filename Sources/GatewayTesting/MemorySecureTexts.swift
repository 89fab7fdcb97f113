public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// Texts of secure sends in memory, with consecutive ids from 1000 on. Can be made to be full and to fail.
public final class MemorySecureTexts: SecureTextStore {
    /// A stored text.
    public struct Stored: Sendable, Hashable {
        /// The recipient.
        public let owner: UserName
        /// The text.
        public let text: NewSecureText
        /// The time at which it was fetched.
        public var fetched: WallTime?
    }

    private struct State {
        var texts: [SecureID: Stored] = [:]
        var next: Int64 = 1000
        var reserved: Set<SecureID> = []
        var full: Set<UserName> = []
        var isFull = false
        var failure: SecureTextsUnavailable?
        var lookups = 0
    }

    private let state = Mutex(State())
    private let timeline: Timeline

    /// Creates an empty store. With the timeline of other test doubles, the order of events can be observed.
    public init(timeline: Timeline = Timeline()) { self.timeline = timeline }

    /// The stored texts.
    public var texts: [SecureID: Stored] { state.withLock(\.texts) }
    /// The ids that are reserved and not stored.
    public var reserved: Set<SecureID> { state.withLock(\.reserved) }
    /// The number of look-ups of texts.
    public var lookups: Int { state.withLock(\.lookups) }

    /// Leaves no room for these recipients.
    public func fill(_ owners: UserName...) { state.withLock { $0.full = Set(owners) } }
    /// Leaves no room for anybody, or room for everybody.
    public func setFull(_ isFull: Bool) { state.withLock { $0.isFull = isFull } }
    /// Makes reads and writes fail, until it is called with nil.
    public func fail(_ failure: SecureTextsUnavailable?) { state.withLock { $0.failure = failure } }

    /// Reserves ids.
    public func reserve(_ text: NewSecureText) throws(SecureTextsFull) -> SecureTextReservation {
        let result: (places: [SecureTextReservation.Place], full: [UserName])? = state.withLock { state in
            if state.isFull { return nil }
            var places: [SecureTextReservation.Place] = []
            for owner in text.owners where !state.full.contains(owner) {
                guard let id = SecureID(state.next) else { return nil }
                state.next += 1
                state.reserved.insert(id)
                places.append(.init(id: id, owner: owner))
            }
            return (places, text.owners.filter(state.full.contains))
        }
        guard let result else { throw SecureTextsFull("full") }
        return SecureTextReservation(places: result.places, full: result.full) {
            places throws(SecureTextsUnavailable) in
            let failure = self.state.withLock { state in
                guard state.failure == nil else { return state.failure }
                for place in places {
                    state.reserved.remove(place.id)
                    state.texts[place.id] = Stored(owner: place.owner, text: text)
                }
                return nil
            }
            if let failure { throw failure }
            self.timeline.add(.textStored(places.map(\.id)))
        } release: { places in
            self.state.withLock { state in for place in places { state.reserved.remove(place.id) } }
        }
    }

    /// Returns a stored text.
    public func text(
        _ id: SecureID?, of user: UserName, now: WallTime
    ) async throws(SecureTextsUnavailable) -> SecureText? {
        let (failure, stored) = state.withLock { state in
            state.lookups += 1
            return (state.failure, id.flatMap { state.texts[$0] })
        }
        if let failure { throw failure }
        guard let id, let stored, stored.owner == user, stored.text.expiry > now else { return nil }
        return SecureText(id: id, text: stored.text.text, wasFetched: stored.fetched != nil)
    }

    /// Returns the texts that were not fetched, newest first.
    public func unfetched(
        by user: UserName, since: WallTime?, limit: Int, now: WallTime
    ) async throws(SecureTextsUnavailable) -> [UnfetchedText] {
        let (failure, texts) = state.withLock { ($0.failure, $0.texts) }
        if let failure { throw failure }
        return texts.filter { _, stored in
            stored.owner == user && stored.fetched == nil && stored.text.expiry > now && stored.text.delivery <= now
                && stored.text.delivery >= since ?? stored.text.delivery
        }
        .map { UnfetchedText(id: $0, delivery: $1.text.delivery) }
        .sorted { ($0.delivery, $0.id.number) > ($1.delivery, $1.id.number) }.prefix(limit).map(\.self)
    }

    /// Marks a text as fetched.
    public func markFetched(_ id: SecureID, at now: WallTime) { state.withLock { $0.texts[id]?.fetched = now } }

    /// Removes texts.
    public func remove(_ ids: [SecureID]) { state.withLock { state in for id in ids { state.texts[id] = nil } } }
}
