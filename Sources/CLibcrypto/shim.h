// What the gateway uses of the system's OpenSSL: message digests, MACs, AES-GCM, constant-time comparison, wiping, X.509.
// Not its random numbers: RandomBytes asks the kernel.
#pragma once
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/core_names.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// XN_FLAG_RFC2253, whose definition Swift cannot import.
static const unsigned long notify_gateway_rfc2253_flags = XN_FLAG_RFC2253;

// OSSL_PARAM arrays are awkward to build from Swift: one call that makes a keyed HMAC context, or NULL.
static inline EVP_MAC_CTX *notify_gateway_hmac_context(
    const char *digest, const unsigned char *key, size_t key_length) {
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (mac == NULL) return NULL;
    EVP_MAC_CTX *context = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    if (context == NULL) return NULL;
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest, 0),
        OSSL_PARAM_construct_end(),
    };
    if (EVP_MAC_init(context, key, key_length, parameters) != 1) {
        EVP_MAC_CTX_free(context);
        return NULL;
    }
    return context;
}
