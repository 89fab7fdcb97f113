import CProgramVersion

/// The version of the program.
public enum ProgramVersion {
    /// The version that is being developed. deploy/package derives the versions of packages between releases from this line.
    static let next = "0.2.0"

    /// The text that `version` prints and that the metric `notify_gateway_build_info` contains: the version of the
    /// package, or `0.2.0~dev` in a program that `deploy/package` did not build.
    public static let text = notify_gateway_packaged_version().map { String(cString: $0) } ?? "\(next)~dev"
}
