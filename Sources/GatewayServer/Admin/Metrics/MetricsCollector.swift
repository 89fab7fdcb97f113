internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport

/// Collects the metrics of all components when they are scraped. It is not part of the request pipeline.
struct MetricsCollector: Sendable {
    let context: ServerContext
    let subsystems: Subsystems
    /// The running gateway; nil until it has started.
    let running: HotSwappable<RunningGateway?>
    /// The TLS of each listener that uses it, with the listener's address.
    let certificates: [(listener: String, tls: ServerTLS)]
    /// The metrics that libraries report. They belong to the process, so all gateways of a process serve the same ones.
    var libraries = LibraryMetrics.process

    private var stores: GatewayStores { subsystems.stores.stores }

    /// Returns all metrics.
    func families() async -> [MetricFamily] {
        let isReady = await subsystems.stores.readiness.obstacle() == nil
        var families = [
            MetricFamily(
                "notify_gateway_ready", .gauge, "1 while the gateway is ready for calls, else 0.",
                isReady ? 1 : 0),
            MetricFamily(
                "notify_gateway_reloads_total", .counter, "Reloads of the whole configuration, by result.",
                [
                    ([.init("result", "exchanged")], .number(Double(context.reloads.exchanged.value))),
                    ([.init("result", "refused")], .number(Double(context.reloads.kept.value))),
                ]),
        ]
        families += context.metrics.families
        families += [build, expiries, bans]
        families += [shadowRejections, debtExchange]
        families.append(workers)
        families += providerKeys
        if let running = running.value {
            families += await Self.connections(running.listenerReadings(), running.connectionsOverLimit)
            if let memory = await running.requestMemory { families += Self.requestMemory(memory) }
            families += await Self.upstream(running.upstreamReading())
        }
        families += journal
        families += AuditSinkMetricFamilies.families(await subsystems.sinks.readings)
        families += SegmentArchiveMetricFamilies.families(await subsystems.archive.reading)
        families += TraceExportMetricFamilies.families(subsystems.tracing.metrics)
        families += LedgerMetrics.families(
            subsystems.stores.monitor, sessions: stores.sessions, texts: stores.texts)
        families.append(
            MetricFamily(
                "notify_gateway_event_loop_lag_seconds", .histogram,
                "Delay between the time a task is due on an event loop and its start, in seconds.",
                context.threads.lagMonitor.lateness.enumerated().map {
                    ([.init("loop", String($0.offset))], .histogram($0.element))
                }))
        return families + ProcessMetrics.families() + libraries.families()
    }

    private var build: MetricFamily {
        MetricFamily(
            "notify_gateway_build_info", .gauge, "1, with the version of the program as a label.",
            [([.init("version", ProgramVersion.text)], .number(1))])
    }

    private var expiries: MetricFamily {
        MetricFamily(
            "notify_gateway_certificate_expiry_seconds", .gauge,
            "Time at which the certificate of a listener expires, in seconds since 1970.",
            certificates.map { ([.init("listener", $0.listener)], .number(Double($0.tls.certificateExpiry.seconds))) })
    }

    private var bans: MetricFamily {
        let bans = subsystems.calls.throttle.currentBans()
        func count(_ isOfKind: (LoginBan) -> Bool) -> MetricFamily.Value {
            .number(Double(bans.count(where: isOfKind)))
        }
        return MetricFamily(
            "notify_gateway_bans", .gauge, "Active login bans, by what they apply to.",
            [
                ([.init("kind", "address")], count { $0.user == nil }),
                ([.init("kind", "user")], count { $0.address == nil }),
                ([.init("kind", "pair")], count { $0.user != nil && $0.address != nil }),
            ])
    }

    private var shadowRejections: MetricFamily {
        MetricFamily(
            "notify_gateway_limit_shadow_rejections_total", .counter,
            "Calls that a limit in shadow mode would have rejected, and audience members that it would have skipped.",
            subsystems.calls.limiter.value.wouldReject.map { ([.init("limit", $0.limit)], .number(Double($0.count))) })
    }

    private var debtExchange: MetricFamily {
        let age = subsystems.calls.debtExchange?.age.components
        return MetricFamily(
            "notify_gateway_limit_exchange_age_seconds", .gauge,
            "Time since limits were last shared with the other gateways of the store; only with PostgreSQL.",
            age.map { [([], .number(Double($0.seconds) + Double($0.attoseconds) / 1e18))] } ?? [])
    }

    private var workers: MetricFamily {
        var counts: [[MetricFamily.Label]: Int] = [:]
        for (name, load) in subsystems.authenticators.made.loads {
            for entry in load {
                counts[[.init("authenticator", name.text), .init("state", entry.state)], default: 0] += entry.count
            }
        }
        return MetricFamily(
            "notify_gateway_authenticator_workers", .gauge,
            "Workers and queued logins of authenticators that have them, by state.",
            counts.sorted { ($0.key[0].value, $0.key[1].value) < ($1.key[0].value, $1.key[1].value) }
                .map { ($0.key, .number(Double($0.value))) })
    }

    private var providerKeys: [MetricFamily] {
        let keys = subsystems.authenticators.made.providerKeys
        func values(_ value: (ProviderKeyStatus) -> Double) -> [([MetricFamily.Label], MetricFamily.Value)] {
            keys.map { ([.init("issuer", $0.issuer)], .number(value($0))) }
        }
        return [
            MetricFamily(
                "notify_gateway_provider_keys", .gauge, "Keys of an identity provider that can verify tokens.",
                values { Double($0.count) }),
            MetricFamily(
                "notify_gateway_provider_keys_read_time_seconds", .gauge,
                "Time at which the keys were last read, in seconds since 1970; 0 without keys.",
                values { Double($0.read?.seconds ?? 0) }),
            MetricFamily(
                "notify_gateway_provider_key_failures_total", .counter, "Readings of the keys that failed.",
                values { Double($0.failures) }),
        ]
    }

    private var journal: [MetricFamily] {
        let metrics = stores.journalMetrics
        return [
            MetricFamily(
                "notify_gateway_journal_up", .gauge, "1 while calls can be recorded, else 0.",
                stores.journal.outage == nil ? 1 : 0),
            MetricFamily(
                "notify_gateway_journal_batch_lines", .histogram, "Lines in a batch that is written to disk at once.",
                [([], .histogram(metrics.batchLines.reading))]),
            MetricFamily(
                "notify_gateway_journal_sync_duration_seconds", .histogram,
                "Time to write a batch to disk, in seconds.", [([], .histogram(metrics.syncTimes.reading))]),
            MetricFamily(
                "notify_gateway_journal_failures_total", .counter, "Batches that could not be written.",
                Double(metrics.failures.value)),
            MetricFamily(
                "notify_gateway_journal_missing_lines_total", .counter,
                "Recorded lines that were found missing since the start.", Double(metrics.missingLines.value)),
            MetricFamily(
                "notify_gateway_journal_bytes", .gauge, "Bytes of the journal's segments.",
                Double(metrics.segmentBytes.value)),
            MetricFamily(
                "notify_gateway_journal_free_bytes", .gauge, "Free bytes on the journal's file system.",
                Double(metrics.freeBytes.value)),
            MetricFamily(
                "notify_gateway_journal_queued_records", .gauge, "Records that are queued for writing.",
                Double(stores.journal.waiting)),
            MetricFamily(
                "notify_gateway_journal_unindexed_bytes", .gauge,
                "Bytes of closed segments of the journal that have no index yet.",
                Double(subsystems.stores.history.unindexedBytes)),
        ]
    }

    private static func connections(
        _ readings: [(listener: String, reading: ListenerStatistics)],
        _ connectionsOverLimit: (refused: UInt64, evicted: UInt64, overFrameLimit: UInt64)
    ) -> [MetricFamily] {
        func labels(_ listener: String) -> [MetricFamily.Label] { [.init("listener", listener)] }
        return [
            MetricFamily(
                "notify_gateway_connections", .gauge, "Open client connections.",
                readings.map { (labels($0.listener), .number(Double($0.reading.connections))) }),
            MetricFamily(
                "notify_gateway_calls_in_flight", .gauge, "Calls in flight.",
                readings.map { (labels($0.listener), .number(Double($0.reading.calls))) }),
            MetricFamily(
                "notify_gateway_calls_queued", .gauge, "Calls that are queued because the maximum is in flight.",
                readings.map { (labels($0.listener), .number(Double($0.reading.waiting))) }),
            MetricFamily(
                "notify_gateway_connections_accepted_total", .counter, "Accepted client connections.",
                readings.map { (labels($0.listener), .number(Double($0.reading.accepted))) }),
            MetricFamily(
                "notify_gateway_connections_rejected_total", .counter,
                "Connections rejected by the total limit or the limit of one address.",
                Double(connectionsOverLimit.refused)),
            MetricFamily(
                "notify_gateway_connections_evicted_total", .counter,
                "Idle connections that were closed to make room for new ones.", Double(connectionsOverLimit.evicted)),
            MetricFamily(
                "notify_gateway_connections_over_frame_limit_total", .counter,
                "HTTP/2 connections that were closed because of too many frames without use.",
                Double(connectionsOverLimit.overFrameLimit)),
        ]
    }

    private static func requestMemory(_ memory: RequestMemory) -> [MetricFamily] {
        [
            MetricFamily(
                "notify_gateway_request_memory_bytes", .gauge,
                "Bytes held by incomplete requests and unread responses.",
                Double(memory.bytes)),
            MetricFamily(
                "notify_gateway_request_memory_rejections_total", .counter,
                "Requests, responses and connections ended because the memory of connections was exhausted.",
                Double(memory.refused.value)),
        ]
    }

    private static func upstream(_ reading: UpstreamStatistics) -> [MetricFamily] {
        [
            MetricFamily(
                "notify_gateway_upstream_connections", .gauge, "Connections to the backend, by state.",
                [
                    ([.init("state", "busy")], .number(Double(reading.open - reading.idle))),
                    ([.init("state", "idle")], .number(Double(reading.idle))),
                ]),
            MetricFamily(
                "notify_gateway_upstream_destination_up", .gauge,
                "1 while calls are sent to an address of the backend, else 0.",
                reading.destinations.map {
                    ([.init("destination", $0.address)], .number($0.isAvailable ? 1 : 0))
                }),
            MetricFamily(
                "notify_gateway_upstream_pending_requests", .gauge,
                "Requests that are queued for a connection to the backend.",
                Double(reading.waiting)),
            MetricFamily(
                "notify_gateway_upstream_connects_total", .counter, "Attempts to connect to the backend, by result.",
                [
                    ([.init("result", "connected")], .number(Double(reading.connected))),
                    ([.init("result", "failed")], .number(Double(reading.failed))),
                ]),
        ]
    }
}
