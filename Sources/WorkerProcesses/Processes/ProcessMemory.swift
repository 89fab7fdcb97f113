internal import CWorkers

/// The memory of this process, which holds passwords and keys.
package enum ProcessMemory {
    /// Disables core dumps of this process, and access of other processes of the same user (ptrace(2),
    /// `/proc/PID/mem`). Each process of the program calls it first: the kernel allows both again at execve(2).
    package static func protect() { notify_gateway_protect_memory() }
}
