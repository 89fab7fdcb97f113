/// An authenticator that is based on files. Logins after a reload use the new contents.
public protocol ReloadableAuthenticator: Authenticator, ReloadableFiles {}
