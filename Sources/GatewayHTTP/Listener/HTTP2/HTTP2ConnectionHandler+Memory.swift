internal import NIOCore
internal import NIOHTTP2

extension HTTP2ConnectionHandler {
    /// Enforces the memory limit. It rejects incomplete requests, the newest first, then resets streams whose responses
    /// wait for the client, and closes the connection if that is not enough.
    ///
    /// Call it after each turn that `TurnScheduler` gives the connection, after all bytes of a read have been
    /// processed, and after a deadline. Received frames that still wait for a turn may complete a request. The
    /// connection is then allowed a larger share of the memory, and its newest incomplete request is neither counted
    /// nor rejected.
    func enforceMemoryLimit() {
        let isBurst = rateLimiter.hasWaitingFrames
        let spared = isBurst ? streams.newestIncomplete() : nil
        let sparedBytes = spared.map { HTTP2Stream.overhead + $0.request.heldBytes } ?? 0
        while phase != .closing {
            let held = streams.heldBytes(buffers: rateLimiter.usualBufferBytes) - sparedBytes + rateLimiter.heldBytes
            guard let fault = memory.set(held, isBurst: isBurst).fault else { return }
            if let (id, _) = streams.newestIncomplete(except: spared?.id) {
                reject(fault, on: id, isComplete: false)
                // On a connection of one client, what is still on its way affects only that client.
                if !carriesManyClients { forget(id) }
            } else if let id = streams.newestUnread {
                guard resetUnread(id) else { return }
            } else if isBurst {
                // The waiting frames may still complete the spared request.
                return
            } else {
                isOutOfMemory = true
                return fail(.enhanceYourCalm)
            }
        }
    }

    /// Counts the requests that wait for admission and the bodies of responses that the client has not taken. Without
    /// memory for them it rejects the newest waiting calls, then resets the newest streams with a response; the client
    /// does not learn how these calls ended. Call it when `pendingBytes` of a stream change and when a stream closes.
    func updatePending() {
        while phase != .closing, pending.set(streams.pendingBytes) != .granted {
            if let id = streams.newestWaiting {
                rejectWaiting(id)
            } else if let id = streams.newestUnread {
                guard resetUnread(id) else { return }
            } else {
                return
            }
        }
    }

    /// Returns whether memory is free now. While the client reads nothing at all, the HTTP/2 library holds a reset back, and
    /// the response with it: the connection of one client is closed.
    private func resetUnread(_ id: HTTP2StreamID) -> Bool {
        guard context?.channel.isWritable == true else {
            guard !carriesManyClients else { return false }
            isOutOfMemory = true
            close()
            return false
        }
        streams[id]?.pendingBytes = 0
        send(.rstStream(.enhanceYourCalm), on: id)
        context?.flush()
        return true
    }
}
