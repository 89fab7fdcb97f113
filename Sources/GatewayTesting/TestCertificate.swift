/// Certificates and keys for tests: P-256, signed by a test authority, most of them valid for a hundred years.
public struct TestCertificate: Sendable {
    /// The certificate in PEM.
    public let certificate: String
    /// The private key in PEM (PKCS #8). It is public, like this file.
    public let key: String

    /// The certificate of the authority that signed the others.
    public static let authority = """
        -----BEGIN CERTIFICATE-----
        MIIBizCCATGgAwIBAgIUTL31beOhS6dmoYooyW7vxKaDPKowCgYIKoZIzj0EAwIw
        EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMjExMzE3MTVaGA8yMTI2MTAyODEz
        MTcxNVowEjEQMA4GA1UEAwwHVGVzdCBDQTBZMBMGByqGSM49AgEGCCqGSM49AwEH
        A0IABCSHzeCbyOvOJmtMI8eXnxFvQ63GBHbkQjHAgYf7/Rw62WIzxQrh7pYQ3AJI
        GNVAoKIeU0ymFlRzeriqOTvzts6jYzBhMB0GA1UdDgQWBBQnBwf+/pNMhN896RAV
        OzYkLh97JzAfBgNVHSMEGDAWgBQnBwf+/pNMhN896RAVOzYkLh97JzAPBgNVHRMB
        Af8EBTADAQH/MA4GA1UdDwEB/wQEAwICBDAKBggqhkjOPQQDAgNIADBFAiEAq8zY
        nauaOFxQ09LDgFlUe8aYrSR889lARLDiqJhA2voCIDS3CCNh/y1djMnURo8tVL6d
        aKf8I9fW5QSKr9iTsyyB
        -----END CERTIFICATE-----

        """

    /// A certificate for `localhost`, `gateway.test` and 127.0.0.1.
    public static let one = TestCertificate(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBzzCCAXWgAwIBAgIUL+zgBx3nbalHwPt9rIURIqM2Z/owCgYIKoZIzj0EAwIw
            EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMjExMzE3MTVaGA8yMTI2MTAyODEz
            MTcxNVowDjEMMAoGA1UEAwwDb25lMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
            4aFlEr3z2weFw6ZGtPchlLfPsDI2B+XLkilpzciHqtqq/puxuL8WQMuZwXB8rjH3
            CVWK9DbSrOgi4HLh9RAcAaOBqjCBpzAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQE
            AwIHgDAdBgNVHSUEFjAUBggrBgEFBQcDAQYIKwYBBQUHAwIwKAYDVR0RBCEwH4IJ
            bG9jYWxob3N0ggxnYXRld2F5LnRlc3SHBH8AAAEwHQYDVR0OBBYEFG2jObg1+93a
            Gwgef5gsFpu/Pen8MB8GA1UdIwQYMBaAFCcHB/7+k0yE3z3pEBU7NiQuH3snMAoG
            CCqGSM49BAMCA0gAMEUCIHlnw+yt7LH4gyglEqIf8hwChms+p+3DoD7U1dGKX/Rm
            AiEAmQSTXpcumuXiKR3U4Td90RATSaMrNzZe5UXxH/dj1N4=
            -----END CERTIFICATE-----

            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgq+CplhsaRmSo4Be5
            8rx+KHQGX9vwyXCtlXVcaEq6I86hRANCAAThoWUSvfPbB4XDpka09yGUt8+wMjYH
            5cuSKWnNyIeq2qr+m7G4vxZAy5nBcHyuMfcJVYr0NtKs6CLgcuH1EBwB
            -----END PRIVATE KEY-----

            """)

    /// Another certificate for the same names, with another key.
    public static let two = TestCertificate(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBzzCCAXWgAwIBAgIUL+zgBx3nbalHwPt9rIURIqM2Z/swCgYIKoZIzj0EAwIw
            EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMjExMzE3MTVaGA8yMTI2MTAyODEz
            MTcxNVowDjEMMAoGA1UEAwwDdHdvMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
            fNWqB2pNRvhrOlOkTMYx4IYRi9cL7rzaFCK7oQEd3gWA59WH/q29ATlkkYvVX/NE
            +nDoOeyWw3XF3xBjvt9dJKOBqjCBpzAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQE
            AwIHgDAdBgNVHSUEFjAUBggrBgEFBQcDAQYIKwYBBQUHAwIwKAYDVR0RBCEwH4IJ
            bG9jYWxob3N0ggxnYXRld2F5LnRlc3SHBH8AAAEwHQYDVR0OBBYEFMLZk+TLk9cu
            apImCT0kFLWIi/YjMB8GA1UdIwQYMBaAFCcHB/7+k0yE3z3pEBU7NiQuH3snMAoG
            CCqGSM49BAMCA0gAMEUCIQD2R8olu0oQcECSqvIJpZyvAbg4mzXui96irBa+BDGC
            xwIgZoWYF/lmeJlbHMVGgme5UygaFt+YBoUujCj8ktzjIzk=
            -----END CERTIFICATE-----

            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgEJgvk8Y671xt8MUG
            BUELpBwpkvWuzEdzBxPvZHgaT+qhRANCAAR81aoHak1G+Gs6U6RMxjHghhGL1wvu
            vNoUIruhAR3eBYDn1Yf+rb0BOWSRi9Vf80T6cOg57JbDdcXfEGO+310k
            -----END PRIVATE KEY-----

            """)

    /// A certificate for `elsewhere.test` only.
    public static let elsewhere = TestCertificate(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBxjCCAWygAwIBAgIUL+zgBx3nbalHwPt9rIURIqM2Z/wwCgYIKoZIzj0EAwIw
            EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMjExMzE3MTVaGA8yMTI2MTAyODEz
            MTcxNVowFDESMBAGA1UEAwwJZWxzZXdoZXJlMFkwEwYHKoZIzj0CAQYIKoZIzj0D
            AQcDQgAE7/qTnlqJFU5zuKgC949NMZt/RFLJatmjVGhpWj0vUJ64milaEDS0MGeS
            c2bOZWADUaYWnn6HRkezQVD4kjHnIaOBmzCBmDAMBgNVHRMBAf8EAjAAMA4GA1Ud
            DwEB/wQEAwIHgDAdBgNVHSUEFjAUBggrBgEFBQcDAQYIKwYBBQUHAwIwGQYDVR0R
            BBIwEIIOZWxzZXdoZXJlLnRlc3QwHQYDVR0OBBYEFIszjv1zS7u0M+lXmYk0hVob
            4cfFMB8GA1UdIwQYMBaAFCcHB/7+k0yE3z3pEBU7NiQuH3snMAoGCCqGSM49BAMC
            A0gAMEUCIBGY4N2yJNvFUnAV5yA53VEXXoiGFM0Ur5Be6w7HxQa0AiEA502pU1Lj
            Ke1yUM//A2QH87IL9IG8RvoKSZGuOfQXq8Q=
            -----END CERTIFICATE-----

            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgzcWduUpiJflfPuy3
            FYFNRn7IX7JOsFdh1WygNCt9sEGhRANCAATv+pOeWokVTnO4qAL3j00xm39EUslq
            2aNUaGlaPS9QnriaKVoQNLQwZ5JzZs5lYANRphaefodGR7NBUPiSMech
            -----END PRIVATE KEY-----

            """)

    /// A client certificate.
    public static let client = TestCertificate(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBwDCCAWagAwIBAgIUL+zgBx3nbalHwPt9rIURIqM2Z/0wCgYIKoZIzj0EAwIw
            EjEQMA4GA1UEAwwHVGVzdCBDQTAgFw0yNjExMjExMzE3MTVaGA8yMTI2MTAyODEz
            MTcxNVowETEPMA0GA1UEAwwGY2xpZW50MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD
            QgAETZSOkEu2gTCl8OkZe02L9ESQbeLfdlwkdcj01of5XOKhSzJvz3MaWbi7EPAe
            Hhw6tQo+7hxFop/ECNzXNcEtJ6OBmDCBlTAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB
            /wQEAwIHgDAdBgNVHSUEFjAUBggrBgEFBQcDAQYIKwYBBQUHAwIwFgYDVR0RBA8w
            DYILY2xpZW50LnRlc3QwHQYDVR0OBBYEFGhyXMPqa+mhEeZC0+VqkIYdRc4NMB8G
            A1UdIwQYMBaAFCcHB/7+k0yE3z3pEBU7NiQuH3snMAoGCCqGSM49BAMCA0gAMEUC
            IHtUtEWKbkVlFDxEz6qgEklqMkzXXuSlHnSZSZmkQWgyAiEAq0hDktbKkyNjviNC
            ICl7HwtEntCAF5r+qFrwFrRznuU=
            -----END CERTIFICATE-----

            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgzGpEYLrY00vPgDQw
            rkWkbQweLP9HMOJ0unL04obSBvShRANCAARNlI6QS7aBMKXw6Rl7TYv0RJBt4t92
            XCR1yPTWh/lc4qFLMm/PcxpZuLsQ8B4eHDq1Cj7uHEWin8QI3Nc1wS0n
            -----END PRIVATE KEY-----

            """)

    /// A certificate for `localhost` that expired in 2021.
    public static let expired = TestCertificate(
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBgDCCASWgAwIBAgIBATAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdUZXN0IENB
            MB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhw
            aXJlZDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABGJCVdnZudDjxTcG6bvqaYJC
            uEwmQW+yjE7cOFfWJUI4vV1xFx7vzVLQC/4SUKFqx2STPg1IwAiwx5Zt58IJv7+j
            bDBqMAwGA1UdEwEB/wQCMAAwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMB0G
            A1UdDgQWBBSZAisJWbm9z2jc7PfVid7xogpszDAfBgNVHSMEGDAWgBQnBwf+/pNM
            hN896RAVOzYkLh97JzAKBggqhkjOPQQDAgNJADBGAiEAjH9qlKXexEnWtZh/SPFk
            4SUC35K9sJMrZMNBknySAvYCIQCjjGYh8S0G74jJQ8TNqcp9sZ5XyD1GHoeoxIhR
            1JOTEA==
            -----END CERTIFICATE-----

            """,
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg2zmYsIsjsFbEVPaE
            aRApf9CbTvtI9OY/PnIVQddNeVqhRANCAARiQlXZ2bnQ48U3Bum76mmCQrhMJkFv
            soxO3DhX1iVCOL1dcRce781S0Av+ElChasdkkz4NSMAIsMeWbefCCb+/
            -----END PRIVATE KEY-----

            """)
}
