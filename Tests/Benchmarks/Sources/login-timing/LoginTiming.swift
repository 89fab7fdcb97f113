import ArgumentParser
import Foundation

/// Tests whether the time of a rejection reveals its cause.
@main
struct LoginTiming: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login-timing", abstract: "Compare the times of rejections that must not differ.",
        discussion: "Example: swift run --configuration release login-timing --samples 20000")

    @Option(help: "The number of samples of each kind.")
    var samples = 20_000

    /// The threshold that |t| must not reach, and that the controls must exceed.
    private static let bound = 4.5

    func validate() throws {
        guard (100...10_000_000).contains(samples) else {
            throw ValidationError("--samples needs a value from 100 to 10000000")
        }
    }

    func run() async throws {
        let users = try await UserTiming()
        let tokens = try await TokenTiming()
        let few = max(100, samples / 20)
        var good = true
        for comparison in [users.knownAndUnknown(samples), try tokens.firstAndLastByte(samples)] {
            let result = try await comparison.measure()
            good = report(comparison.name, result, passes: result.largest < Self.bound) && good
        }
        for control in [users.control(few), try tokens.control(few)] {
            let result = try await control.measure()
            good = report("control: " + control.name, result, passes: result.largest > Self.bound) && good
        }
        if !good { throw ExitCode(1) }
    }

    private func report(_ name: String, _ result: WelchTest, passes: Bool) -> Bool {
        print("\(passes ? "ok    " : "FAILED") \(name)")
        print("       \(result)")
        return passes
    }
}
