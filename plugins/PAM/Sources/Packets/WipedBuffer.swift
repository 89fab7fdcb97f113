internal import CPAM

/// Memory for secrets: wiped before it is deallocated.
struct WipedBuffer: ~Copyable {
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) {
        bytes = .allocate(byteCount: count, alignment: 1)
    }

    deinit {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        bytes.deallocate()
    }

    /// Wipes the bytes before the value is destroyed.
    func wipe() {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }
}
