/// An authenticator that lives on files: logins after a reload are judged by what they say then.
public protocol ReloadableAuthenticator: Authenticator, ReloadableFiles {}
