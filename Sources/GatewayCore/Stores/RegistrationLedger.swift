public import GatewaySupport

/// The ownership of device registrations. It depends on the login and the device handle; the id that a client presents
/// only labels a registration for that client.
///
/// A change takes these steps: `begin` claims the handle and registration and returns the current state, the caller
/// queries the backend, and `finish` writes the result. While a claim is held, other calls for the same handle or
/// registration wait, so that backend and ledger stay consistent when two devices act concurrently. An update has one
/// more step: `prepare` writes the attempt before the backend is called. Therefore the ledger knows every registration
/// that the backend may have, even after a crash.
public protocol RegistrationLedger: Sendable {
    /// Claims the handle and registration of the request and returns the current state. Waits while another call holds
    /// one of them; a sweep never waits.
    ///
    /// - Parameters:
    ///   - upstream: The upstream at which the request makes a registration. A registration of the same device at
    ///     another upstream is marked for deletion there as soon as another id replaces it.
    ///   - isRevoked: Returns whether the caller was revoked. `prepare` and `finish` call it within their transaction,
    ///     on a thread of the store. `begin` of a sweep calls it to decide whether the sweep may precede this call.
    func begin(
        _ request: LedgerRequest, at upstream: UpstreamName?, now: WallTime, isRevoked: @escaping @Sendable () -> Bool
    ) async throws(LedgerUnavailable) -> LedgerClaim

    /// Durably writes that the claim's user is about to register under the id. Until a later change, the registration
    /// also belongs to this user and has the state `unknown`. Writes nothing if the ledger already has the registration
    /// for this user.
    ///
    /// - Parameters:
    ///   - replacing: The id that the backend has lost and that the new id replaces.
    ///   - superseding: The other registrations that the backend has for the handle, whatever the ledger has under these
    ///     ids. They are marked for deletion.
    /// - Returns: Nil, with nothing written, if the caller is revoked; the backend must not be called then.
    func prepare(
        _ id: RegistrationID, replacing: RegistrationID?, superseding: [RegistrationID],
        for claim: borrowing LedgerClaim, now: WallTime
    ) async throws(LedgerUnavailable) -> RegistrationAttempt?

    /// Marks a registration for deletion whose last update has an unknown outcome and whose id the backend uses for
    /// another handle. The device has that other handle now and is about to be registered again.
    func dropOutdated(_ id: RegistrationID, now: WallTime) async throws(LedgerUnavailable)

    /// Returns whether a call holds a claim of the registration. Never waits.
    func isClaimed(_ id: RegistrationID) -> Bool

    /// Returns whether the ledger has the id for a different handle, or whether a deletion of it may still be carried
    /// out. No device may be registered under it then.
    func isHeld(_ id: RegistrationID, forAnotherThan handle: DeviceHandle) async throws(LedgerUnavailable) -> Bool

    /// Returns the user's registrations, the most recently seen first, without mere reservations.
    func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration]

    /// Returns the registrations that are marked for deletion in the order in which they are to be deleted, up to the
    /// limit: first those of revocations, and then those of owners in turn.
    func markedForDeletion(limit: Int) async throws(LedgerUnavailable) -> [MarkedRegistration]

    /// Durably writes the result of a claim and releases it. A claim that is dropped without this call changes nothing.
    /// The time at which an unchanged registration was last seen may be written later.
    ///
    /// - Returns: For a create and an update: whether the registration stays. If not, the caller was revoked
    ///   meanwhile, and everything bound by the call is marked for deletion. For a deletion: whether it is complete. If
    ///   not, the registration stays marked and will be deleted again.
    @discardableResult
    func finish(
        _ claim: consuming LedgerClaim, with change: LedgerChange, now: WallTime
    ) async throws(LedgerUnavailable) -> Bool
}

extension RegistrationLedger {
    /// Prepares an update of a device that has no other registrations at the backend.
    public func prepare(
        _ id: RegistrationID, replacing: RegistrationID?, for claim: borrowing LedgerClaim, now: WallTime
    ) async throws(LedgerUnavailable) -> RegistrationAttempt? {
        try await prepare(id, replacing: replacing, superseding: [], for: claim, now: now)
    }
}

/// The error that the ledger cannot be read or written.
public struct LedgerUnavailable: Error, Sendable, CustomStringConvertible {
    /// The detail for the log.
    public let detail: String
    /// Whether the only cause is that too many calls are waiting.
    public let isFull: Bool

    /// Creates an error.
    public init(_ detail: String, isFull: Bool = false) {
        self.detail = detail
        self.isFull = isFull
    }

    /// The detail. It is also the message for the operator if the gateway cannot start.
    public var description: String { detail }
}

/// An operation on the ledger.
public enum LedgerRequest: Sendable, Hashable {
    /// A device requests an id, with or without its handle.
    case create(user: UserName, handle: DeviceHandle?)
    /// A device registers a handle under the id that it knows. `account` is the account of the login if its status must
    /// be checked from time to time.
    case update(user: UserName, label: RegistrationID, handle: DeviceHandle, account: Account? = nil)
    /// A device deletes the registration that it knows under this id.
    case delete(user: UserName, label: RegistrationID)
    /// The gateway deletes a registration that is marked for deletion.
    case sweep(RegistrationID)

    /// The requesting user; nil for the gateway itself.
    public var user: UserName? {
        switch self {
        case .create(let user, _), .update(let user, _, _, _), .delete(let user, _): user
        case .sweep: nil
        }
    }
}

/// The decision of the ledger on a request.
public enum LedgerDecision: Sendable, Hashable {
    /// `create`: call the backend with the handle, which is unbound or belongs to the caller.
    case queryWithHandle
    /// `create`: call the backend without a handle, because none was given or it belongs to another user.
    case queryWithoutHandle
    /// `update`: the handle belongs to the caller, or the caller reserved the id with this handle. Use this
    /// registration.
    case own(RegistrationID)
    /// `update`: the handle belongs to another user, so the device changes its owner. Use that user's registration.
    case ownershipTransfer(RegistrationID, from: UserName)
    /// `update`: the handle is new and the label refers to a registration of the caller. The push service has rotated
    /// the device's token.
    case rotation(RegistrationID)
    /// `update`: the handle is unknown and the label refers to no registration of the caller. A new id is needed from
    /// the backend.
    case notRegistered
    /// `update`: the handle changed its owner too often within one day.
    case tooManyOwnershipTransfers
    /// `delete`: the label refers to this registration, which belongs to the caller.
    case owned(RegistrationID)
    /// `delete`: the label is unknown, or refers to a registration of another user. The two are deliberately
    /// indistinguishable.
    case notOwned
    /// `sweep`: the registration is still to be deleted. `owner` is nil for one that was made before the gateway was
    /// installed and whose owner could not be determined.
    case pendingDeletion(RegistrationID, owner: UserName?, because: SweepReason)
    /// `sweep`: the registration no longer exists, or its device has registered again.
    case notMarked

    /// The registration that an update applies to.
    public var updated: RegistrationID? {
        switch self {
        case .own(let id), .ownershipTransfer(let id, _), .rotation(let id): id
        case .queryWithHandle, .queryWithoutHandle, .notRegistered, .tooManyOwnershipTransfers, .owned, .notOwned,
            .pendingDeletion, .notMarked:
            nil
        }
    }
}

/// A registration that is marked for deletion.
public struct MarkedRegistration: Sendable, Hashable {
    /// The id.
    public let id: RegistrationID
    /// Whether a revocation has marked it, so that it goes before all others.
    public let isRevoked: Bool

    /// Creates a value. Called by ledgers.
    public init(id: RegistrationID, isRevoked: Bool) {
        self.id = id
        self.isRevoked = isRevoked
    }
}

/// The reason why the gateway deletes a registration by itself. Recorded as the `rule` of the deletion.
public enum SweepReason: String, Sendable, Hashable, CaseIterable {
    /// The owner or the registration was revoked, or the session in which it was made was closed.
    case revoked
    /// The owner has too many registrations, and this one was seen least recently.
    case surplus
    /// The owner deleted it, and the backend did not carry out the deletion at that time.
    case givenUp = "given-up"
    /// The status of the owner's account cannot be queried, and the last registration is too old.
    case loginTooOld = "login-too-old"
    /// An import found that notifications for another user reach it.
    case rejectedImport = "unsound"
    /// An import bound it, and the owner's device has not registered again in time.
    case unconfirmed
    /// The ledger was restored from a backup. According to the journal, the registration was deleted or made for
    /// another user after that backup.
    case restored
    /// A comparison found that the backend has it for somebody else, for another device, or not at all.
    case differing
    /// The device is registered under another id, or at another upstream, and this one may still exist. Others may have
    /// made it.
    case superseded
}

/// An attempted update, as written by `prepare` before the backend is called.
public struct RegistrationAttempt: Sendable, Hashable {
    /// The change of the ledger that reverts the attempt.
    public enum Undo: Sendable, Hashable {
        /// No change: the ledger already had the registration for this user, or the outcome of an earlier attempt is
        /// unknown.
        case nothing
        /// Remove the attempt. The registration existed before it.
        case remove
        /// Turn the registration back into a reservation.
        case reserve
    }

    /// The id to register under.
    public let id: RegistrationID
    /// The change to make if the backend did not carry out the update.
    public let undo: Undo

    /// Creates an attempt. Called by ledgers.
    public init(id: RegistrationID, undo: Undo) {
        self.id = id
        self.undo = undo
    }
}

/// The result of a claim at the backend.
public enum LedgerChange: Sendable, Hashable {
    /// `create`: the backend assigned an id, with or without the handle. The id becomes a label of the caller. If the
    /// handle is bound to another id of the caller, the binding moves to this one, because the backend has deleted the
    /// others of the handle. A hub deletes nothing, so the caller gets the id that the ledger has.
    case reserved(RegistrationID, handle: DeviceHandle?)
    /// `update`: the backend has the registration under this id, for the caller and the handle of the request. The
    /// request's label now refers to it. `replacing` is the lost id, which is removed.
    case registered(RegistrationID, replacing: RegistrationID?)
    /// `update`: it is unknown whether the backend has the registration, because there was no response or an ambiguous
    /// one.
    case unresolved(RegistrationID)
    /// `update`: the backend did not carry out the attempt.
    case undone(RegistrationAttempt)
    /// `delete`, `sweep`: the backend no longer has the registration, or has it only for a name that no user has. The
    /// registration stays marked for some minutes if a recent update may still reach the backend.
    case deleted(RegistrationID)
    /// `delete`, `sweep`: the backend may still have the registration. It stays with its owner, marked for another
    /// attempt.
    case deleting(RegistrationID)
    /// `delete`, `sweep`: the backend has not responded, or ambiguously, and may carry out the deletion later. The
    /// registration stays marked, and its handle is registered under another id, which no late deletion reaches.
    case deletionUnanswered(RegistrationID)
    /// `delete`, `sweep`: the backend did not delete the registration but reports that it overwrote it, which is no
    /// proof. It stays marked for one day.
    case unconfirmed(RegistrationID)
}
