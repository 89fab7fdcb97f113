internal import CPAM

/// Memory for what must not stay behind: wiped, then given back.
struct WipedBuffer: ~Copyable {
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) {
        bytes = .allocate(byteCount: count, alignment: 1)
    }

    deinit {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        bytes.deallocate()
    }

    /// Wipes the bytes before the memory itself goes.
    func wipe() {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }
}
