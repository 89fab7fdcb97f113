public import GatewaySupport
internal import Synchronization

/// The texts of secure notifications, until they expire. Only their recipients can read them.
///
/// A text has one copy for each recipient, with an id of its own. A send reserves ids and room before its record,
/// stores the text after the record, and is pushed after that.
public protocol SecureTextStore: Sendable {
    /// Reserves an id and room for each recipient. Never waits. Recipients without room have no place in the result.
    ///
    /// - Throws: If the store as a whole is full.
    func reserve(_ text: NewSecureText) throws(SecureTextsFull) -> SecureTextReservation

    /// Returns the text with the id if it belongs to the user and has not expired, else nil. The duration does not
    /// depend on the texts of other users. Without an id, it looks up one that no text has.
    ///
    /// Called on an event loop; resumes on the same.
    func text(
        _ id: SecureID?, of user: UserName, now: WallTime
    ) async throws(SecureTextsUnavailable) -> SecureText?

    /// Returns the user's texts that were not fetched yet, newest first. Texts of scheduled sends are listed from the
    /// time of their delivery on.
    func unfetched(
        by user: UserName, since: WallTime?, limit: Int, now: WallTime
    ) async throws(SecureTextsUnavailable) -> [UnfetchedText]

    /// Marks a text as fetched. Does not wait; a crash within the next moment loses the mark.
    func markFetched(_ id: SecureID, at now: WallTime)

    /// Removes texts whose push did not leave. Does not wait.
    func remove(_ ids: [SecureID])
}

/// A text to store for one or more recipients.
public struct NewSecureText: Sendable, Hashable {
    /// The text.
    public var text: String
    /// The recipients, without duplicates.
    public var owners: [UserName]
    /// The time at which it is pushed: now, or the time of a scheduled send.
    public var delivery: WallTime
    /// The time from which nobody can read it any more.
    public var expiry: WallTime

    /// Creates a text.
    public init(text: String, owners: [UserName], delivery: WallTime, expiry: WallTime) {
        self.text = text
        self.owners = owners
        self.delivery = delivery
        self.expiry = expiry
    }
}

/// Ids and room for the text of one send. Room that is not used is released with the reservation.
public final class SecureTextReservation: Sendable {
    /// The place of one recipient's copy.
    public struct Place: Sendable, Hashable {
        /// The id, unique among all stored texts.
        public let id: SecureID
        /// The recipient.
        public let owner: UserName

        /// Creates a place.
        public init(id: SecureID, owner: UserName) {
            self.id = id
            self.owner = owner
        }
    }

    /// The places, in the order of the recipients.
    public let places: [Place]
    /// The recipients without room.
    public let full: [UserName]

    private let write: @Sendable ([Place]) async throws(SecureTextsUnavailable) -> Void
    private let release: @Sendable ([Place]) -> Void
    private let isStored = Atomic(false)

    /// Creates a reservation. Called by stores.
    ///
    /// - Parameters:
    ///   - write: Writes the text durably for all places.
    ///   - release: Releases places that were not written.
    public init(
        places: [Place], full: [UserName],
        write: @escaping @Sendable ([Place]) async throws(SecureTextsUnavailable) -> Void,
        release: @escaping @Sendable ([Place]) -> Void
    ) {
        self.places = places
        self.full = full
        self.write = write
        self.release = release
    }

    deinit { if !isStored.load(ordering: .acquiring) { release(places) } }

    /// Stores the text for all places, or for none. Returns once it is on disk. Called once.
    public func store() async throws(SecureTextsUnavailable) {
        try await write(places)
        isStored.store(true, ordering: .releasing)
    }
}

/// A stored text as its recipient reads it.
public struct SecureText: Sendable, Hashable {
    /// The id.
    public let id: SecureID
    /// The text.
    public let text: String
    /// Whether it was fetched before.
    public let wasFetched: Bool

    /// Creates a value.
    public init(id: SecureID, text: String, wasFetched: Bool) {
        self.id = id
        self.text = text
        self.wasFetched = wasFetched
    }
}

/// A stored text that its recipient has not fetched.
public struct UnfetchedText: Sendable, Hashable {
    /// The id.
    public let id: SecureID
    /// The time of its delivery.
    public let delivery: WallTime

    /// Creates a value.
    public init(id: SecureID, delivery: WallTime) {
        self.id = id
        self.delivery = delivery
    }
}

/// The error that no further text can be stored until others expire.
public struct SecureTextsFull: Error, Sendable, Hashable {
    /// The detail for the log.
    public let detail: String

    /// Creates an error.
    public init(_ detail: String) { self.detail = detail }
}

/// The error that texts cannot be read or written now.
public struct SecureTextsUnavailable: Error, Sendable, Hashable {
    /// The detail for the log.
    public let detail: String

    /// Creates an error.
    public init(_ detail: String) { self.detail = detail }
}
