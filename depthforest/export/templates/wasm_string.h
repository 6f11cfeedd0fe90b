/* The part of <string.h> that the headers need, without a C library. */
#ifndef DF_WASM_STRING_H
#define DF_WASM_STRING_H
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

#endif
