#pragma once

#include <stdint.h>

/// How many blocks of memory this process has taken from the allocator since it began, moved ones included.
uint64_t allocations_made(void);
