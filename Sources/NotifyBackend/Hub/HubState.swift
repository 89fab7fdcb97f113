/// The hub's state with its indexes, protected by the hub's lock.
struct HubState {
    /// A registration with its tags prepared for matching.
    struct Stored {
        let registration: Registration
        let service: PushService?
        /// The tags in lower case, for matching.
        let tagKeys: Set<String>
    }

    /// The maximum number of lost ids that are remembered.
    static let maximumGone = 4096
    /// The number of events that a live inbox may lag behind before its stream is closed.
    static let streamBuffer = 256

    let limits: HubLimits
    var registrations: BoundedTable<Stored>
    var gone = BoundedTable<Void>(capacity: maximumGone)
    var inboxes: BoundedTable<[DeliveredNotification]>
    var inboxBytes = 0
    /// The notifications that wait for their time, by id.
    var scheduled: [String: ScheduledNotification] = [:]
    var lastSequence: UInt64 = 0
    var faults: [HubFault: Int] = [:]
    var subscribers: [String: [UInt64: AsyncStream<InboxEvent>.Continuation]] = [:]
    var subscriberCount = 0
    var lastSubscriber: UInt64 = 0
    private var idsByTag: [String: Set<String>] = [:]
    private var idsByHandle: [String: Set<String>] = [:]

    init(limits: HubLimits) {
        self.limits = limits
        registrations = BoundedTable(capacity: limits.registrations)
        inboxes = BoundedTable(capacity: limits.inboxes)
    }

    /// Uses up one injected fault of this kind. Returns false if none is left.
    mutating func consumeFault(_ fault: HubFault) -> Bool {
        guard let left = faults[fault], left > 0 else { return false }
        faults[fault] = left == 1 ? nil : left - 1
        return true
    }

    /// Stores a registration, replaces one with the same id, and updates the indexes.
    ///
    /// Returns the registration with its version.
    @discardableResult
    mutating func store(_ registration: Registration) -> Registration {
        var registration = registration
        if let former = registrations[registration.id] {
            registration.version = former.registration.version + 1
            unindex(former)
        }
        let stored = Stored(
            registration: registration,
            service: PushService(word: registration.platform),
            tagKeys: Set(registration.tags.map { $0.lowercased() })
        )
        if let dropped = registrations.set(stored, for: registration.id) { unindex(dropped.value) }
        for tag in stored.tagKeys { idsByTag[tag, default: []].insert(registration.id) }
        idsByHandle[registration.handle, default: []].insert(registration.id)
        return registration
    }

    /// Removes a registration. Returns false if there is none with this id.
    mutating func remove(_ id: String) -> Bool {
        guard let removed = registrations.remove(id) else { return false }
        unindex(removed)
        return true
    }

    /// Removes the contents of the hub, as a deletion of the hub does.
    mutating func removeAll() {
        registrations = BoundedTable(capacity: limits.registrations)
        idsByTag = [:]
        idsByHandle = [:]
    }

    /// Removes a registration and remembers its id as gone. Returns false if there is none with this id.
    mutating func expire(_ id: String) -> Bool {
        guard remove(id) else { return false }
        _ = gone.set((), for: id)
        return true
    }

    /// Returns the registrations with exactly this handle, oldest first.
    func registrations(ofHandle handle: String) -> [Registration] {
        inOrder(idsByHandle[handle] ?? []).map(\.registration)
    }

    /// Returns the registrations that match a filter, oldest first.
    func registrations(matching filter: ChannelFilter) -> [Registration] {
        if let handle = filter.onlyHandle { return registrations(ofHandle: handle) }
        return registrations.elements.map(\.value.registration).filter { filter.matches($0.handle) }
    }

    /// Returns the registrations that match an expression, oldest first.
    func registrations(matching expression: TagExpression) -> [Stored] {
        guard expression.isAlternativesOnly else {
            return registrations.elements.map(\.value).filter { expression.matches($0.tagKeys) }
        }
        return inOrder(expression.tags.reduce(into: Set()) { $0.formUnion(idsByTag[$1] ?? []) })
    }

    private func inOrder(_ ids: Set<String>) -> [Stored] {
        let found = ids.compactMap { id in registrations.serial(of: id).map { (serial: $0, id: id) } }
        return found.sorted { $0.serial < $1.serial }.compactMap { registrations[$0.id] }
    }

    private mutating func unindex(_ stored: Stored) {
        let id = stored.registration.id
        for tag in stored.tagKeys {
            idsByTag[tag]?.remove(id)
            if idsByTag[tag]?.isEmpty == true { idsByTag[tag] = nil }
        }
        let handle = stored.registration.handle
        idsByHandle[handle]?.remove(id)
        if idsByHandle[handle]?.isEmpty == true { idsByHandle[handle] = nil }
    }
}

/// The limits of the in-memory hub. A full collection evicts its oldest element.
public struct HubLimits: Sendable {
    /// The maximum number of registrations.
    public var registrations: Int
    /// The maximum number of device inboxes.
    public var inboxes: Int
    /// The maximum number of notifications kept for one device.
    public var notificationsPerInbox: Int
    /// The maximum total size of the payloads in all inboxes, in bytes.
    public var inboxBytes: Int
    /// The maximum number of concurrent live inbox streams. Further ones are rejected.
    public var subscribers: Int

    /// Creates limits. Values below 1 become 1.
    public init(
        registrations: Int = 20_000,
        inboxes: Int = 20_000,
        notificationsPerInbox: Int = 100,
        inboxBytes: Int = 64 << 20,
        subscribers: Int = 64
    ) {
        self.registrations = max(1, registrations)
        self.inboxes = max(1, inboxes)
        self.notificationsPerInbox = max(1, notificationsPerInbox)
        self.inboxBytes = max(1, inboxBytes)
        self.subscribers = max(1, subscribers)
    }
}
