internal import NIOCore

/// A rate limiter for the frames of one HTTP/2 client. It parses the frame headers (RFC 9113, section 4.1) before the
/// HTTP/2 library does.
///
/// It does not touch sockets or clocks. Every frame that does not advance a request costs one unit of an allowance. The
/// allowance refills over time and with served calls. The limiter does not track streams. On a connection that carries
/// the requests of many clients, the frames that a proxy sends because of its clients cost nothing here:
/// `HTTP2ConnectionHandler` charges the client.
///
/// Stages, each with its successors: `preface` → `header`; `header` → `payload`, or the next `header` after an empty
/// frame; `payload` → the next `header`.
struct FrameRateLimiter {
    /// The minimum length of a DATA frame that costs nothing, in bytes. The last frame of a stream may be shorter.
    static let minimumDataBytes = 64
    /// The maximum size of the frames of one header block, in bytes. Its decoded fields must be smaller. A proxy's
    /// connection does not end for the large head of one client.
    private var maximumHeadBytes: Int { carriesManyClients ? 160 * 1024 : 64 * 1024 }

    private static let preface = 24
    private static let frameHeader = 9

    private enum Stage {
        /// The client preface, with the number of missing bytes.
        case preface(missing: Int)
        /// A frame header, with the number of bytes that have arrived and the values parsed from them.
        case header(bytes: Int, length: UInt32, type: UInt8, flags: UInt8)
        /// A frame payload, with the number of missing bytes.
        case payload(missing: Int, isData: Bool)
    }

    /// The number of completed frames other than DATA, where a header block counts as one.
    private(set) var completed = 0

    /// The bytes that the HTTP/2 library buffers for an incomplete frame other than DATA, or for an incomplete header
    /// block.
    private(set) var pending = 0

    /// The size of the largest frame other than DATA, complete or not, in bytes.
    private(set) var largest = 0

    private var stage = Stage.preface(missing: FrameRateLimiter.preface)
    private var isWithinHead = false
    private var allowance: FrameAllowance
    /// The number of resets that no served call has made up for yet.
    private var resets = 0
    private let carriesManyClients: Bool
    /// The bytes of the stream's number that have been parsed, without the reserved bit.
    private var stream: UInt32 = 0

    /// The type bytes, by their distance from the first byte, of those frames in the bytes parsed last that must not reach
    /// the HTTP/2 library. The distance is negative if the byte was parsed before.
    ///
    /// HAProxy resets a request that was aborted before it got a stream with RST_STREAM on stream 0, which ends the
    /// connection of all its clients (RFC 9113, section 6.4).
    private(set) var invalidResets: [Int] = []

    /// - Parameter carriesManyClients: Whether the connection carries the requests of many clients.
    init(now: NIODeadline, carriesManyClients: Bool = false) {
        allowance = FrameAllowance(now: now)
        self.carriesManyClients = carriesManyClients
    }

    /// Whether a frame other than DATA, or a header block, is incomplete. Both have the deadline of a request head.
    var isWithinHeadOrControl: Bool {
        if isWithinHead { return true }
        switch stage {
        case .preface: return false
        case .header: return headerBytes > 0
        case .payload(_, let isData): return !isData
        }
    }

    /// The number of bytes of an incomplete frame header.
    var headerBytes: Int { if case .header(let bytes, _, _, _) = stage { bytes } else { 0 } }

    /// Parses bytes up to the end of at most `frames` frames, and subtracts the parsed frames from `frames`. Returns
    /// the number of parsed bytes, or nil if the allowance is exhausted.
    mutating func process(_ bytes: ByteBufferView, frames: inout Int, now: NIODeadline) -> Int? {
        var isWithinAllowance = true
        var index = bytes.startIndex
        invalidResets.removeAll(keepingCapacity: true)
        while index < bytes.endIndex, frames > 0 {
            switch stage {
            case .preface(let missing):
                let count = min(missing, bytes.endIndex - index)
                index += count
                stage = count == missing ? Self.nextHeader : .preface(missing: missing - count)
            case .payload(let missing, let isData):
                let count = min(missing, bytes.endIndex - index)
                index += count
                if !isData { pending += count }
                if count == missing, !isData, !isWithinHead {
                    completed += 1
                    pending = 0
                }
                if pending > maximumHeadBytes { isWithinAllowance = false }
                if count == missing { frames -= 1 }
                stage = count == missing ? Self.nextHeader : .payload(missing: missing - count, isData: isData)
            case .header(let have, var length, var type, var flags):
                let byte = bytes[index]
                index += 1
                switch have {
                case 0, 1, 2: length = length << 8 | UInt32(byte)
                case 3: type = byte
                case 4: (flags, stream) = (byte, 0)
                default: stream = stream << 8 | UInt32(have == 5 ? byte & 0x7F : byte)
                }
                guard have + 1 == Self.frameHeader else {
                    stage = .header(bytes: have + 1, length: length, type: type, flags: flags)
                    continue
                }
                if carriesManyClients, type == FrameType.reset, stream == 0 {
                    invalidResets.append(index - bytes.startIndex - Self.frameHeader + 3)
                }
                let isData = type == FrameType.data
                if length == 0 { frames -= 1 }
                if !isData { largest = max(largest, Int(length)) }
                stage = length == 0 ? Self.nextHeader : .payload(missing: Int(length), isData: isData)
                let isCharged = evaluate(type, flags: flags, length: length)
                if isCharged, !charge(now: now) { isWithinAllowance = false }
            }
        }
        return isWithinAllowance ? index - bytes.startIndex : nil
    }

    /// Charges one unit for an invalid request. Returns false if the allowance is exhausted.
    mutating func charge(now: NIODeadline) -> Bool { allowance.charge(now: now) }

    /// Refunds a part of the allowance after a served call. For each reset, one served call refunds nothing: a client
    /// may reset streams whose calls are served before the reset is processed.
    mutating func served() {
        if resets > 0 { resets -= 1 } else { allowance.refund() }
    }

    private static let nextHeader = Stage.header(bytes: 0, length: 0, type: 0, flags: 0)

    private enum FrameType {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let windowUpdate: UInt8 = 8
        static let continuation: UInt8 = 9
    }

    /// Returns whether the frame costs one unit.
    private mutating func evaluate(_ type: UInt8, flags: UInt8, length: UInt32) -> Bool {
        let (endStream, endHeaders) = (flags & 0x1 != 0, flags & 0x4 != 0)
        switch type {
        case FrameType.data: return !endStream && length < Self.minimumDataBytes && !carriesManyClients
        case FrameType.headers:
            isWithinHead = !endHeaders
            return false
        case FrameType.continuation:
            isWithinHead = !endHeaders
            return !carriesManyClients
        case FrameType.reset:
            if carriesManyClients { return false }
            resets = min(resets + 1, FrameAllowance.maximum)
            return true
        case FrameType.windowUpdate: return !carriesManyClients
        default: return true
        }
    }
}
