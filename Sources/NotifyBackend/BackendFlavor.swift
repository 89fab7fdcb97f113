/// The generation of notify-users backend that the embedded backend imitates.
///
/// All generations have the same four calls. They differ in statuses, names, bodies and the place of the registration
/// id (contract: backend profiles). The raw value is the name on the command line and in the configuration.
public enum BackendFlavor: String, CaseIterable, Sendable {
    /// The tutorial's ASP.NET Web API 2 backend: quoted ids, lenient bodies, 500 in place of 401.
    case classic
    /// Microsoft's ASP.NET Core sample: unquoted ids, ids in the query only, strict bodies.
    case core
    /// A common port to .NET 6: unquoted ids in the path, `fcmv1`, success responses to hub failures.
    case net6
}
