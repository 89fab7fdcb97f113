// The version of a package, which deploy/package links into the program: a new version compiles nothing again.
#pragma once

// A program that no package contains lacks the symbol, and its address is null.
extern const char notify_gateway_version[] __attribute__((weak));

static inline const char *_Nullable notify_gateway_packaged_version(void) { return notify_gateway_version; }
