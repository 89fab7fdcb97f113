internal import Foundation

/// Memory for secrets: wiped before it is deallocated.
package struct WipedBuffer: ~Copyable {
    /// The memory, valid until the value is destroyed.
    package let bytes: UnsafeMutableRawBufferPointer

    /// Allocates the memory.
    package init(count: Int) {
        bytes = .allocate(byteCount: count, alignment: 1)
    }

    deinit {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
        bytes.deallocate()
    }

    /// Wipes the bytes before the value is destroyed.
    package func wipe() {
        if let start = bytes.baseAddress { explicit_bzero(start, bytes.count) }
    }
}
