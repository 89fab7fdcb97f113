import Foundation

/// The `notify-gateway` program, run as a process.
struct Program {
    struct Outcome {
        let status: Int32
        let output: String
        let errors: String
    }

    /// The path of the program, which the build places beside the test bundle.
    static var path: String {
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "notify-gateway").path()
    }

    /// Runs a command and waits until it exits.
    static func run(_ arguments: [String], input: String = "", in directory: String? = nil) async throws -> Outcome {
        try await execute(path, arguments, input: input, in: directory)
    }

    /// Runs a program and waits until it exits.
    static func execute(
        _ executable: String, _ arguments: [String], input: String = "", in directory: String? = nil
    ) async throws -> Outcome {
        let process = Process()
        process.executableURL = URL(filePath: executable)
        process.arguments = arguments
        if let directory { process.currentDirectoryURL = URL(filePath: directory) }
        let (standardInput, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = standardInput
        process.standardOutput = output
        process.standardError = errors
        // Both pipes are read while the program runs. A pipe holds 64 KiB, and a writer blocks when it is full.
        async let said = Blocking.run { output.fileHandleForReading.readDataToEndOfFile() }
        async let complained = Blocking.run { errors.fileHandleForReading.readDataToEndOfFile() }
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
                try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
                try standardInput.fileHandleForWriting.close()
            } catch {
                process.terminationHandler = nil
                // The readers would otherwise wait for a process that never starts.
                try? output.fileHandleForWriting.close()
                try? errors.fileHandleForWriting.close()
                continuation.resume(throwing: error)
            }
        }
        return Outcome(
            status: status, output: String(decoding: try await said, as: UTF8.self),
            errors: String(decoding: try await complained, as: UTF8.self))
    }
}
