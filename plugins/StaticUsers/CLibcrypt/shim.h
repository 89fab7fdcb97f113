// The functions of the system's libcrypt (libxcrypt) that the plug-in uses: one computes a hash, one makes a new
// setting.
#pragma once
#include <crypt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Hashes the phrase under the setting into `output` (CRYPT_OUTPUT_SIZE bytes). Returns 0, or an errno value: ERANGE
// for a phrase longer than crypt(3) accepts. The phrase must not contain a NUL. Wipes its copies of the phrase before
// it frees them.
static inline int notify_gateway_crypt(const void *phrase, size_t length, const char *setting, char *output) {
    struct crypt_data *data = (struct crypt_data *)calloc(1, sizeof *data);
    if (data == NULL) return ENOMEM;
    int fault = 0;
    if (length >= sizeof data->input) {
        fault = ERANGE;
    } else {
        memcpy(data->input, phrase, length);
        errno = 0;
        if (crypt_rn(data->input, setting, data, (int)sizeof *data) != NULL) {
            memcpy(output, data->output, CRYPT_OUTPUT_SIZE);
        } else {
            fault = errno != 0 ? errno : EINVAL;
        }
    }
    explicit_bzero(data, sizeof *data);
    free(data);
    return fault;
}

// Writes a new yescrypt setting with the library's default cost and a salt from the kernel into `output`
// (CRYPT_GENSALT_OUTPUT_SIZE bytes). Returns 0, or an errno value.
static inline int notify_gateway_new_setting(char *output) {
    errno = 0;
    if (crypt_gensalt_rn("$y$", 0, NULL, 0, output, CRYPT_GENSALT_OUTPUT_SIZE) != NULL) return 0;
    return errno != 0 ? errno : EINVAL;
}
