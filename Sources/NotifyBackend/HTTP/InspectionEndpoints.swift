import Hummingbird
import NIOCore
import ServiceLifecycle

/// Endpoints for inspecting the hub, which a real backend does not have: `GET /registrations`, `GET /inbox/{handle}`
/// and `GET /inbox?handle=…`. The latter two are also available as event streams.
struct InspectionEndpoints: Sendable {
    let hub: NotificationHub

    private enum Resource {
        case registrations
        case inbox(handle: String)
    }

    /// Returns the response to an inspection; nil if the target is not an inspection endpoint.
    func response(method: String, target: String, accept: String?) -> Response? {
        guard let resource = Self.resource(target) else { return nil }
        guard method == "GET" else { return Response(BackendResponse(405, allow: "GET")) }
        switch resource {
        case .registrations:
            return json(InspectionJSON.text(hub.registrations()))
        case .inbox(let handle):
            let wantsStream = (accept ?? "").split(separator: ",").contains {
                MediaType(String($0)).essence == "text/event-stream"
            }
            guard wantsStream else { return json(InspectionJSON.text(hub.inbox(ofHandle: handle))) }
            guard let events = hub.subscribe(toHandle: handle) else {
                return Response(.text(503, "Too many live inboxes are open."))
            }
            return Response(
                status: .ok,
                headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
                body: InboxEventStream.body(of: events)
            )
        }
    }

    private func json(_ text: String) -> Response {
        Response(BackendResponse(200, contentType: "application/json; charset=utf-8", body: text))
    }

    private static func resource(_ target: String) -> Resource? {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let (path, query) = (parts[0], parts.count == 2 ? parts[1] : "")
        if path == "/registrations" { return .registrations }
        if path == "/inbox" { return FormFields(query).first("handle").map { .inbox(handle: $0) } }
        guard path.hasPrefix("/inbox/"), path.count > 7 else { return nil }
        // A handle may contain slashes, escaped or not.
        return .inbox(handle: FormFields.decoded(path.dropFirst(7), plusIsSpace: false))
    }
}

/// A live inbox as server-sent events: `event: notification`, the sequence number as `id`, one line of JSON as `data`.
enum InboxEventStream {
    /// Returns a body that writes events until the client disconnects, the reader falls behind, or the server shuts
    /// down.
    static func body(of events: AsyncStream<InboxEvent>) -> ResponseBody {
        ResponseBody { writer in
            // Opens the stream at the client before the first event.
            try await writer.write(ByteBuffer(string: ": inbox\n\n"))
            for await event in events.cancelOnGracefulShutdown() {
                try await writer.write(ByteBuffer(string: text(of: event)))
            }
            try await writer.finish(nil)
        }
    }

    /// Returns the text of one event (HTML standard, server-sent events: a comment begins with a colon).
    static func text(of event: InboxEvent) -> String {
        switch event {
        case .heartbeat: ": heartbeat\n\n"
        case .delivered(let notification):
            "event: notification\nid: \(notification.sequence)\ndata: \(InspectionJSON.text(notification))\n\n"
        }
    }
}

/// A service that sends a heartbeat to all live inboxes at a fixed interval.
struct InboxHeartbeat: Service {
    static let interval = Duration.seconds(15)

    let hub: NotificationHub

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                hub.sendHeartbeats()
            }
        }
    }
}

/// A service that delivers scheduled notifications when their time has come.
struct ScheduledDelivery: Service {
    static let interval = Duration.milliseconds(250)

    let hub: NotificationHub

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: Self.interval)
                hub.deliverDue()
            }
        }
    }
}
