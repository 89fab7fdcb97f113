/// The version of the program.
public enum ProgramVersion {
    /// The text that `version` prints and that the metric `notify_gateway_build_info` contains.
    public static let text = "0.1.0"
}
