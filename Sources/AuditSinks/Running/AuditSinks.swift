package import GatewayStore
internal import GatewaySupport
package import Logging
package import OutboundHTTP

/// The sinks of a gateway. A reload adds, changes and removes them.
public actor AuditSinks {
    /// The journal that the sinks follow.
    public struct Journal: Sendable {
        /// The directory of the segments.
        let directory: String
        /// The durable end of the journal, and the declared needs of the sinks.
        let followers: JournalFollowers
        /// The number of the first line of this run.
        let firstLine: UInt64
        /// The copy of the journal in the store that several gateways share; nil without one.
        let copy: JournalCopy?

        /// Creates the description of an open journal.
        package init(directory: String, followers: JournalFollowers, firstLine: UInt64, copy: JournalCopy? = nil) {
            self.directory = directory
            self.followers = followers
            self.firstLine = firstLine
            self.copy = copy
        }
    }

    private struct Running {
        let sink: AuditSink
        let task: Task<Void, Never>
    }

    private let journal: Journal
    private let timing: DeliveryTiming
    private let logger: Logger
    private var running: [Running] = []
    private var metrics: [String: AuditSinkMetrics] = [:]
    /// Whether the sinks of the start were started. Later ones begin with later records.
    private var hasStarted = false
    private var isStopped = false

    /// Creates the object without sinks.
    package init(_ journal: Journal, timing: DeliveryTiming, logger: Logger) {
        self.journal = journal
        self.timing = timing
        self.logger = logger
    }

    /// Applies a configuration: starts new sinks, starts changed ones again from their position, stops removed ones, whose
    /// cursor is kept, and leaves equal ones running. A journal with a copy has the sink of the shared store besides.
    public func apply(_ configured: [AuditSinkSettings]) async {
        guard !isStopped else { return }
        let settings = configured + (journal.copy == nil ? [] : [.sharedStore])
        await end(running.filter { !settings.contains($0.sink.settings) })
        guard !isStopped else { return }
        for name in metrics.keys where !settings.contains(where: { $0.name == name }) {
            metrics[name] = nil
            journal.followers.release(name)
        }
        let first = hasStarted ? journal.followers.durableEnd : journal.firstLine
        hasStarted = true
        for settings in settings where !running.contains(where: { $0.sink.settings == settings }) {
            start(settings, at: first)
        }
    }

    /// Stops all sinks. Deliveries in progress have ``AuditSink/stopGrace``. What they do not confirm is delivered
    /// by the next run.
    public func stop() async {
        isStopped = true
        await end(running)
    }

    /// The state of each sink, in the order of the names.
    public var readings: [AuditSinkReading] { running.map(\.sink.reading).sorted { $0.name < $1.name } }

    private func start(_ settings: AuditSinkSettings, at first: UInt64) {
        let counters = metrics[settings.name] ?? AuditSinkMetrics()
        metrics[settings.name] = counters
        let thread = DeliveryThread()
        let sink = AuditSink(
            settings, journal: journal, destination: destination(settings.target, thread),
            thread: thread, timing: timing, metrics: counters, logger: logger)
        running.append(Running(sink: sink, task: Task { await sink.run(startingAt: first) }))
        logger.info("Audit sink started", metadata: ["sink": "\(settings.name)"])
    }

    private func end(_ ended: [Running]) async {
        for running in ended { running.task.cancel() }
        for running in ended { await running.task.value }
        running.removeAll { present in ended.contains { $0.sink === present.sink } }
    }

    private func destination(_ target: AuditSinkSettings.Target, _ thread: DeliveryThread) -> any SinkDestination {
        let clocks = timing.clocks
        switch target {
        case .store:
            // `apply` adds this target only if there is a copy, and no configuration can name it.
            guard let copy = journal.copy else { preconditionFailure("only a journal with a copy has this sink") }
            return StoreDestination(copy: copy)
        case .file(let path): return FileDestination(path: path, thread: thread)
        case .webhook(let settings): return WebhookDestination(settings, thread: thread, clocks: clocks)
        case .syslog(let settings):
            let message = SyslogMessage(facility: settings.facility)
            switch settings.address {
            case .tls(let host, let port):
                return SyslogTLSDestination(
                    settings, host: host, port: port, message: message, thread: thread, clocks: clocks)
            case .datagram(let path), .stream(let path):
                let isStream = settings.address == .stream(path: path)
                return SyslogSocketDestination(path: path, isStream: isStream, message: message, thread: thread)
            }
        }
    }
}
