/// A claim of one call on a handle and a registration. Dropping it releases it without a change.
public struct LedgerClaim: ~Copyable, Sendable {
    /// A registration that has everything that a request states.
    public struct Renewable: Sendable, Hashable {
        /// Its id.
        public let id: RegistrationID
        /// The version of the ledger in which it was found. While the ledger has this version, the registration is the
        /// same. Nil for a ledger that several gateways use, whose version is not known.
        public let version: UInt64?

        /// Creates it from its parts. Called by ledgers.
        public init(id: RegistrationID, version: UInt64?) {
            self.id = id
            self.version = version
        }
    }

    /// The ledger's number of the claim.
    public let number: UInt64
    /// The request.
    public let request: LedgerRequest
    /// The decision.
    public let decision: LedgerDecision
    /// The upstream at which the request's registration is made from now on; nil if the request makes none.
    public let upstream: UpstreamName?
    /// The place of the registration that the decision names; nil if it names none.
    public let place: RegistrationPlace?
    /// The caller's registration of the request's handle. For an update only if its state is certain: no `prepare` is
    /// needed for it then.
    public let registered: RegistrationID?
    /// The caller's registration if confirming it changes only the time at which it was last seen.
    public let renewable: Renewable?
    /// Whether this sweep precedes a call that holds the registration and whose caller is revoked. The registration
    /// must be deleted once more after that call.
    public let precedesCall: Bool
    /// Returns whether the caller was revoked.
    public let isRevoked: @Sendable () -> Bool
    private let release: @Sendable (UInt64) -> Void

    /// Creates a claim. `release` is called once with its number, on any thread, when the claim is dropped.
    public init(
        number: UInt64, request: LedgerRequest, decision: LedgerDecision, upstream: UpstreamName? = nil,
        place: RegistrationPlace? = nil, registered: RegistrationID? = nil, renewable: Renewable? = nil,
        precedesCall: Bool = false,
        isRevoked: @escaping @Sendable () -> Bool = { false },
        release: @escaping @Sendable (UInt64) -> Void
    ) {
        self.number = number
        self.request = request
        self.decision = decision
        self.upstream = upstream
        self.place = place
        self.registered = registered
        self.renewable = renewable
        self.precedesCall = precedesCall
        self.isRevoked = isRevoked
        self.release = release
    }

    /// Whether the registration that the decision names was made at another upstream than the request's.
    public var isElsewhere: Bool { place?.isElsewhere(than: upstream) ?? false }

    deinit { release(number) }
}
