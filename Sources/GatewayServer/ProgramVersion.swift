/// The version of the program.
public enum ProgramVersion {
    /// As `version` prints it and `notify_gateway_build_info` has it.
    public static let text = "0.1.0"
}
