import Hummingbird
import NIOCore
import ServiceLifecycle

/// A live inbox as server-sent events: `event: notification`, the delivery's number as `id`, one line of JSON as
/// `data`.
enum InboxEventStream {
    /// A body that writes events until the client leaves, the reader falls behind, or the server shuts down.
    static func body(of events: AsyncStream<InboxEvent>) -> ResponseBody {
        ResponseBody { writer in
            // Opens the stream at the client before there is anything to tell.
            try await writer.write(ByteBuffer(string: ": inbox\n\n"))
            for await event in events.cancelOnGracefulShutdown() {
                try await writer.write(ByteBuffer(string: text(of: event)))
            }
            try await writer.finish(nil)
        }
    }

    /// The text of one event (HTML standard, server-sent events: comments begin with a colon).
    static func text(of event: InboxEvent) -> String {
        switch event {
        case .heartbeat: ": heartbeat\n\n"
        case .delivered(let notification):
            "event: notification\nid: \(notification.sequence)\ndata: \(InspectionJSON.text(notification))\n\n"
        }
    }
}
