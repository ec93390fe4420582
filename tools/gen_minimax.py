#!/usr/bin/env python3
"""Coefficients of src/kernels/scalar/math.cpu.h and wide_math.cpu.h: weighted minimax polynomials by the Remez exchange
algorithm (E. Remez, 1934; J.-M. Muller, Elementary Functions, chapter 3), each coefficient then rounded to f32, or to
f64 for wide_math.cpu.h.

Needs mpmath. Prints for each polynomial its largest weighted error before and after rounding, and its coefficients,
lowest power first."""
import struct

from mpmath import (atan, atanh, cos, erf, erfc, erfinv, exp, expm1, findroot, log, log1p, lu_solve, matrix, mp, mpf, pi,
                    polyval, sin, sqrt, tanh)

mp.dps = 40


def remez(f, weight, lo, hi, degree, rounds=12, samples=2000):
    """Coefficients c minimising max of |weight(x) * (f(x) - sum c[i] x^i)| on [lo, hi]; lowest power first."""
    count = degree + 2
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * (i + mpf(1) / 2) / count) for i in range(count)]
    grid = [lo + (hi - lo) * i / samples for i in range(samples + 1)]
    table = [(x, f(x), weight(x)) for x in grid]
    c = []
    for _ in range(rounds):
        a = matrix(count, count)
        b = matrix(count, 1)
        for i, x in enumerate(xs):
            for j in range(degree + 1):
                a[i, j] = x**j
            a[i, degree + 1] = (-1) ** i / weight(x)
            b[i] = f(x)
        c = list(lu_solve(a, b))[: degree + 1]
        errors = [(w * (y - polyval(c[::-1], x)), x) for x, y, w in table]
        peaks = []  # the largest error of each run of one sign
        for e in errors:
            if peaks and (e[0] < 0) == (peaks[-1][0] < 0):
                if abs(e[0]) > abs(peaks[-1][0]):
                    peaks[-1] = e
            else:
                peaks.append(e)
        while len(peaks) > count:
            peaks.pop(0 if abs(peaks[0][0]) < abs(peaks[-1][0]) else -1)
        if len(peaks) < count:
            raise RuntimeError("error does not alternate often enough: lower the degree")
        xs = [x for _, x in peaks]
    return c, max(abs(e) for e, _ in errors), table


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mpf(float(x))


def show(name, f, weight, lo, hi, degree, rounding=f32):
    c, error, table = remez(f, weight, mpf(lo), mpf(hi), degree)
    r = [rounding(x) for x in c]
    rounded = max(abs(w * (y - polyval(r[::-1], x))) for x, y, w in table)
    print(f"{name}: error {float(error):.2e}, with rounded coefficients {float(rounded):.2e}")
    print("  " + ", ".join(float(x).hex() + ("f" if rounding is f32 else "") for x in r))


tiny = mpf(10) ** -12


def away(x):  # the quotients below are removable singularities at 0
    return x if abs(x) > tiny else tiny


def main():
    # exp(r) = 1 + r + r^2 P(r), relative error
    half = log(mpf(2)) / 2 + mpf("1e-5")
    show("exp", lambda r: (exp(away(r)) - 1 - away(r)) / away(r) ** 2, lambda r: away(r) ** 2 / exp(r), -half, half, 4)
    # log(1+f) = f - f^2/2 + f^3 P(f), relative error
    show("log", lambda f: (log1p(away(f)) - away(f) + away(f) ** 2 / 2) / away(f) ** 3,
         lambda f: abs(away(f) ** 3 / log1p(away(f))), sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1, 7)
    # tanh(x) = x + x^3 P(x^2) for |x| <= 5/8, in s = x^2
    show("tanh", lambda s: (tanh(sqrt(away(s))) / sqrt(away(s)) - 1) / away(s),
         lambda s: away(s) * sqrt(away(s)) / tanh(sqrt(away(s))), 0, mpf(25) / 64, 4)
    # erf(x) = x + x P(x^2) for |x| <= 1, in s = x^2
    show("erf", lambda s: erf(sqrt(away(s))) / sqrt(away(s)) - 1,
         lambda s: sqrt(away(s)) / erf(sqrt(away(s))), 0, 1, 6)
    # erf(x) = 1 - exp(-P(x)) for 1 <= x <= 4: a change of P is scaled by erfc in the result
    show("erfc", lambda x: -log(erfc(x)), lambda x: erfc(x) / erf(x), 1, 4, 6)
    wide()


def inverse_erf_of(w):
    """erfinv(x) / x where w = -log(1 - x^2); by erfc near 1, where x itself has no digits left."""
    if w < 1:
        x = sqrt(-expm1(-w))
        return erfinv(x) / x
    x = sqrt(-expm1(-w))
    rest = exp(-w) / (1 + x)
    return findroot(lambda y: log(erfc(y)) - log(rest), sqrt(w)) / x


def wide():
    """wide_math.cpu.h: evaluated in f64, so that only the last rounding, to f32, counts."""
    global tiny
    mp.dps, tiny = 60, mpf(10) ** -18
    # 2^r = 1 + r P(r)
    show("exp2", lambda r: expm1(away(r) * log(mpf(2))) / away(r), lambda r: away(r) / expm1(away(r) * log(mpf(2))),
         -0.5001, 0.5001, 7, f64)
    # log(1+f) = 2s + s z P(z) with s = f/(2+f), z = s^2
    top = (3 - 2 * sqrt(mpf(2))) ** 2 + mpf("1e-6")
    show("log", lambda z: 2 * (atanh(sqrt(away(z))) / sqrt(away(z)) - 1) / away(z), lambda z: away(z) / 2, 0, top, 6, f64)
    # sin(r) = r + r z S(z), cos(r) = 1 - z/2 + z^2 C(z), z = r^2
    quarter = (pi / 4 + mpf("1e-5")) ** 2
    show("sin", lambda z: (sin(sqrt(away(z))) / sqrt(away(z)) - 1) / away(z), away, 0, quarter, 3, f64)
    show("cos", lambda z: (cos(sqrt(away(z))) - 1 + away(z) / 2) / away(z) ** 2, lambda z: away(z) ** 2, 0, quarter, 3, f64)
    # sin(pi r) = r P(r^2) for |r| <= 1/2
    show("sinpi", lambda z: sin(pi * sqrt(away(z))) / sqrt(away(z)), lambda z: sqrt(away(z)) / sin(pi * sqrt(away(z))),
         0, 0.25, 8, f64)
    # atan(q) = q + q z P(z) for |q| <= tan(pi/8)
    show("atan", lambda z: (atan(sqrt(away(z))) / sqrt(away(z)) - 1) / away(z), away, 0, (sqrt(mpf(2)) - 1) ** 2, 7, f64)
    # erfinv(x) = x P(w), w = -log(1 - x^2); from w = 5 on x P(sqrt(w))
    show("erfinv", lambda w: inverse_erf_of(max(w, tiny)), lambda w: 1 / inverse_erf_of(max(w, tiny)), 0, 5, 10, f64)
    show("erfinv, tail", lambda s: inverse_erf_of(s * s), lambda s: 1 / inverse_erf_of(s * s), sqrt(mpf(5)), 4, 10, f64)


if __name__ == "__main__":
    main()
