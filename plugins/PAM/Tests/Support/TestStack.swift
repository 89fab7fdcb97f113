import Foundation
import GatewayCore

@testable import PAM

/// A directory with a private stack, removed with the last reference to it. Nothing of the system's is touched.
final class TestStack: Sendable {
    static let service = "notify-gateway-test"
    let path: String

    init(_ lines: String = "") throws {
        path = NSTemporaryDirectory() + "pam-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        try write(lines)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file of the directory, the stack unless another is named, and answers its path.
    @discardableResult
    func write(_ text: String, to name: String = service, mode: Int = 0o644) throws -> String {
        let file = "\(path)/\(name)"
        try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    /// Has pam_matrix judge by a file of passwords: right is `right`, in capitals too, for each name.
    func useMatrix(_ names: String..., before lines: String = "") throws {
        let passwords = names.map { "\($0):right:\(Self.service)" }.joined(separator: "\n")
        let file = try write(passwords, to: "passwords")
        let matrix = try Tools.matrix.unwrapped
        try write("\(lines)\nauth required \(matrix) passdb=\(file)\naccount required \(matrix) passdb=\(file)")
    }

    func settings(_ change: (inout PAMPlugin.Settings) -> Void = { _ in }) -> PAMPlugin.Settings {
        var settings = PAMPlugin.Settings(service: Self.service)
        settings.serviceDirectory = path
        settings.program = Tools.program
        settings.workers = 4
        settings.deadline = .seconds(30)
        change(&settings)
        return settings
    }

    func authenticator(
        _ context: PluginContext = testContext(), _ change: (inout PAMPlugin.Settings) -> Void = { _ in }
    ) -> PAMAuthenticator {
        PAMAuthenticator(settings(change), context: context)
    }
}

extension PAMAuthenticator {
    /// Ends the workers and waits until they have gone.
    func stop() async {
        await withCheckedContinuation { caller in pool.stop { caller.resume() } }
    }
}

struct Missing: Error {}

extension Optional {
    var unwrapped: Wrapped {
        get throws {
            guard let self else { throw Missing() }
            return self
        }
    }
}
