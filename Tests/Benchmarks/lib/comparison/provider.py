"""An OpenID provider: its key set, and tokens signed with its keys."""
import base64
import json
import time

ISSUER = "https://provider.example"
ALGORITHMS = ["RS256", "ES256", "EdDSA"]
LIFETIME = 86_400


def encoded(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class Provider:
    """Has a key for each of `ALGORITHMS`, whose id is the algorithm."""

    def __init__(self):
        # Installed only for rows that need it.
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
        rs, es, ed = (
            rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate())

        def sign_es(content):
            return b"".join(
                number.to_bytes(32, "big") for number in utils.decode_dss_signature(es.sign(content, ec.ECDSA(hashes.SHA256()))))

        self.signers = {
            "RS256": lambda content: rs.sign(content, padding.PKCS1v15(), hashes.SHA256()), "ES256": sign_es, "EdDSA": ed.sign}
        rsa_numbers, ec_numbers = rs.public_key().public_numbers(), es.public_key().public_numbers()
        self.keys = [
            {"kty": "RSA", "n": encoded(rsa_numbers.n.to_bytes(256, "big")), "e": encoded(rsa_numbers.e.to_bytes(3, "big"))},
            {"kty": "EC", "crv": "P-256", "x": encoded(ec_numbers.x.to_bytes(32, "big")),
             "y": encoded(ec_numbers.y.to_bytes(32, "big"))},
            {"kty": "OKP", "crv": "Ed25519", "x": encoded(ed.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))},
        ]

    def key_set(self):
        return json.dumps({"keys": [key | {"kid": name, "alg": name} for name, key in zip(ALGORITHMS, self.keys)]})

    def bearer(self, algorithm, user, number=0):
        """Returns the value of `Authorization` with a token of the user. Tokens of different numbers differ."""
        now = int(time.time())
        header = {"alg": algorithm, "kid": algorithm, "typ": "at+jwt"}
        claims = {
            "iss": ISSUER, "aud": "notify", "sub": user, "iat": now, "exp": now + LIFETIME, "jti": f"{number:032x}",
            "client_id": "app", "scope": "openid notify"}
        content = ".".join(encoded(json.dumps(part, separators=(",", ":")).encode()) for part in [header, claims])
        return f"Bearer {content}.{encoded(self.signers[algorithm](content.encode()))}"
