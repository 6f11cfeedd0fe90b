/* The part of <math.h> that the joint header needs, without a C library. */
#ifndef DF_WASM_MATH_H
#define DF_WASM_MATH_H
#include <stdint.h>
#include <string.h>

#define HUGE_VAL __builtin_huge_val()

static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline double fabs(double x) { return __builtin_fabs(x); }

/* exp(x) for |x| <= 700: 2^k exp(r) with a series for |r| <= ln(2) / 2. */
static inline double exp(double x) {
    const int64_t k = (int64_t)(x * 1.4426950408889634 + (x < 0.0 ? -0.5 : 0.5)), bits = (k + 1023) << 52;
    const double rest = (x - (double)k * 0.693147180369123816490) - (double)k * 1.90821492927058770002e-10;
    double power, sum = 1.0;
    int i;
    for (i = 18; i >= 1; i--) sum = 1.0 + rest / i * sum;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

/* log(x) for normal x > 0: log(2^k m) = k ln(2) + 2 atanh((m - 1) / (m + 1)) with a series for m near 1. */
static inline double log(double x) {
    int64_t bits, k;
    double m, t, sum = 0.0;
    int i;
    memcpy(&bits, &x, sizeof bits);
    k = (bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) m /= 2.0, k++;
    t = (m - 1.0) / (m + 1.0);
    for (i = 23; i >= 1; i -= 2) sum = sum * t * t + 1.0 / i;
    return (double)k * 0.693147180559945309417 + 2.0 * t * sum;
}

#endif
