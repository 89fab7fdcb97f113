internal import NIOCore

/// Reads the headers of a client's frames (RFC 9113, section 4.1) ahead of whoever understands them, and says whether the client
/// costs more than it is worth.
///
/// A value without sockets and clocks. Every frame that brings no request any further takes one from an allowance, which comes
/// back by and by, and by calls that are answered. It knows nothing of streams: it is the last word where finer limits have none,
/// such as for WINDOW_UPDATE, frames of unknown types, and DATA in crumbs.
struct FrameRateLimiter {
    /// Frames that may be of no use at once.
    static let allowance = 200
    /// How long it takes for all of the allowance to come back.
    static let span = TimeAmount.seconds(30)
    /// What an answered call gives back: window updates and a ping or two belong to it.
    private static let worthOfCall = 4
    /// DATA that brings less than this, and not the end, is of no use.
    private static let crumb = 64
    /// Bytes of the frames of one head: more than its fields may have when they are decoded.
    private static let longestHead = 64 * 1024

    private static let preface = 24
    private static let frameHeader = 9

    private enum Stage {
        /// Bytes of the preface that are missing yet.
        case preface(missing: Int)
        /// Bytes of a frame's header that are there: as a number, the last nine of them count.
        case header(bytes: Int, length: UInt32, type: UInt8, flags: UInt8)
        /// Bytes of a frame that are missing yet.
        case payload(missing: Int, isData: Bool)
    }

    /// How many frames but DATA, and heads, were completed.
    private(set) var completed = 0

    /// Bytes of a frame but DATA, or of the frames of one head, that are there and not complete: they are kept.
    private(set) var pending = 0

    private var stage = Stage.preface(missing: FrameRateLimiter.preface)
    private var isWithinHead = false
    private var left: Int
    private var refilled: NIODeadline

    init(now: NIODeadline) {
        left = Self.allowance
        refilled = now
    }

    /// Whether something has begun that is to be completed in the time of a head: a frame but DATA, or the fields of a request.
    var isWithinHeadOrControl: Bool {
        if isWithinHead { return true }
        switch stage {
        case .preface: return false
        case .header(let bytes, _, _, _): return bytes > 0
        case .payload(_, let isData): return !isData
        }
    }

    /// Reads bytes up to the end of so many frames, and takes these frames off the number. Returns how many bytes it has read, or nil
    /// where the client has cost too much.
    mutating func process(_ bytes: ByteBufferView, frames: inout Int, now: NIODeadline) -> Int? {
        var isWithinAllowance = true
        var index = bytes.startIndex
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
                if pending > Self.longestHead { isWithinAllowance = false }
                if count == missing { frames -= 1 }
                stage = count == missing ? Self.nextHeader : .payload(missing: missing - count, isData: isData)
            case .header(let have, var length, var type, var flags):
                let byte = bytes[index]
                index += 1
                switch have {
                case 0, 1, 2: length = length << 8 | UInt32(byte)
                case 3: type = byte
                case 4: flags = byte
                default: break
                }
                guard have + 1 == Self.frameHeader else {
                    stage = .header(bytes: have + 1, length: length, type: type, flags: flags)
                    continue
                }
                let isData = type == FrameType.data
                if length == 0 { frames -= 1 }
                stage = length == 0 ? Self.nextHeader : .payload(missing: Int(length), isData: isData)
                if !judge(type, flags: flags, length: length, now: now) { isWithinAllowance = false }
            }
        }
        return isWithinAllowance ? index - bytes.startIndex : nil
    }

    /// A fault of the client's that no frame shows: a request that is none.
    mutating func charge(now: NIODeadline) -> Bool {
        refill(now)
        guard left > 0 else { return false }
        left -= 1
        return true
    }

    /// A call was answered.
    mutating func served() { left = min(Self.allowance, left + Self.worthOfCall) }

    private static let nextHeader = Stage.header(bytes: 0, length: 0, type: 0, flags: 0)

    private enum FrameType {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let continuation: UInt8 = 9
    }

    private mutating func judge(_ type: UInt8, flags: UInt8, length: UInt32, now: NIODeadline) -> Bool {
        let (endStream, endHeaders) = (flags & 0x1 != 0, flags & 0x4 != 0)
        switch type {
        case FrameType.data:
            if endStream || length >= Self.crumb { return true }
        case FrameType.headers:
            isWithinHead = !endHeaders
            return true
        case FrameType.continuation:
            isWithinHead = !endHeaders
        default:
            break
        }
        return charge(now: now)
    }

    private mutating func refill(_ now: NIODeadline) {
        let step = Self.span.nanoseconds / Int64(Self.allowance)
        let steps = (now - refilled).nanoseconds / step
        guard steps > 0 else { return }
        left = min(Self.allowance, left + Int(min(steps, Int64(Self.allowance))))
        refilled = refilled + .nanoseconds(steps * step)
    }
}
