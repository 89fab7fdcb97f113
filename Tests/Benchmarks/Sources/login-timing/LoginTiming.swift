import ArgumentParser
import Foundation

/// Whether the time of a refusal tells what was wrong with a login.
@main
struct LoginTiming: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login-timing", abstract: "Compare how long refusals take that must not differ.",
        discussion: "Example: swift run --configuration release login-timing --samples 20000")

    @Option(help: "How many of each kind.")
    var samples = 20_000

    /// What |t| must stay below, and what the controls must exceed.
    private static let bound = 4.5

    func validate() throws {
        guard (100...10_000_000).contains(samples) else { throw ValidationError("--samples takes 100 to 10000000") }
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
