import Hummingbird
import NIOCore
import ServiceLifecycle

/// A live inbox as server-sent events: `event: notification`, the delivery's number as `id`, and a line of JSON as
/// `data`.
enum InboxEventStream {
    /// Returns a body that writes events until the client disconnects, its buffer overflows, or the server shuts
    /// down.
    static func body(of events: AsyncStream<InboxEvent>) -> ResponseBody {
        ResponseBody { writer in
            // Sends the head and a comment, so that the client sees an open stream before the first event.
            try await writer.write(ByteBuffer(string: ": inbox\n\n"))
            for await event in events.cancelOnGracefulShutdown() {
                try await writer.write(ByteBuffer(string: text(of: event)))
            }
            try await writer.finish(nil)
        }
    }

    /// Returns the text of one event (HTML standard, server-sent events). Comments start with a colon.
    static func text(of event: InboxEvent) -> String {
        switch event {
        case .heartbeat: ": heartbeat\n\n"
        case .delivered(let notification):
            "event: notification\nid: \(notification.sequence)\ndata: \(InspectionJSON.text(notification))\n\n"
        }
    }
}
