"""Writes the golden files beside this script: operations and a small GPT with their gradients, computed by JAX in f64.

    pip install jax==0.10.2 && python3 interp/tests/golden/make.py

Inputs are not stored: they are the counter-based initial values that `nn.parameter` defines, computed here a second
time, so the files hold results only and the generator is checked as well. Every formula here is written with JAX's own
functions where it has one (softmax, log_softmax, gelu, silu), and gradients come from jax.vjp.
"""

import json
import math
import pathlib

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
HERE = pathlib.Path(__file__).parent
U64 = np.uint64
EPS, BASE = 1e-5, 10000.0


def mixed(z):
    z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
    return z ^ (z >> U64(31))


def unit(name, count):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    key = mixed(np.array([h], dtype=U64))
    k = np.arange(count, dtype=U64) + U64(1)
    return (mixed(key + k * U64(0x9E3779B97F4A7C15)) >> U64(11)).astype(np.float64) / 2.0**53


def uniform(name, shape, lo=-1.0, hi=1.0):
    return jnp.asarray((lo + (hi - lo) * unit(name, math.prod(shape))).reshape(shape))


def normal(name, shape, mean, std):
    count = math.prod(shape)
    u = unit(name, count + count % 2).reshape(-1, 2)
    z = np.sqrt(-2.0 * np.log(1.0 - u[:, 0])) * np.exp(2j * np.pi * u[:, 1])
    z = np.stack([z.real, z.imag], -1).ravel()[:count]
    return jnp.asarray((mean + std * z).reshape(shape))


def tokens(name, shape, vocab):
    return jnp.floor((uniform(name, shape) + 1.0) / 2.0 * vocab).astype(jnp.int32)


def linear(x, w, bias=None, transpose_w=False):
    y = jnp.einsum("...k,nk->...n" if transpose_w else "...k,kn->...n", x, w)
    return y if bias is None else y + bias


def layer_norm(x, gamma, beta, eps=EPS):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred / jnp.sqrt(jnp.var(x, -1, keepdims=True) + eps) * gamma + beta


def rms_norm(x, gamma, eps=EPS):
    return x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + eps) * gamma


def scores(q, k, heads, kv_heads):
    b, s, width = q.shape
    hd = width // heads
    q = q.reshape(b, s, heads, hd)
    k = jnp.repeat(k.reshape(b, s, kv_heads, hd), heads // kv_heads, axis=2)
    z = jnp.einsum("bshd,bthd->bhst", q, k) / math.sqrt(hd)
    return jnp.where(jnp.tril(jnp.ones((s, s), bool)), z, -jnp.inf)


def attention(q, k, v, heads, kv_heads):
    b, s, width = q.shape
    hd = width // heads
    v = jnp.repeat(v.reshape(b, s, kv_heads, hd), heads // kv_heads, axis=2)
    p = jax.nn.softmax(scores(q, k, heads, kv_heads), axis=-1)
    return jnp.einsum("bhst,bthd->bshd", p, v).reshape(b, s, width)


def rotary(x, heads, base=BASE):
    b, s, width = x.shape
    hd = width // heads
    x = x.reshape(b, s, heads, hd)
    low, high = x[..., : hd // 2], x[..., hd // 2 :]
    angle = jnp.arange(s)[:, None] * base ** (-2.0 * jnp.arange(hd // 2) / hd)
    turned = (low + 1j * high) * jnp.exp(1j * angle)[None, :, None, :]
    return jnp.concatenate([turned.real, turned.imag], -1).reshape(b, s, width)


def cross_entropy(logits, targets, denominator):
    logp = jax.nn.log_softmax(logits, axis=-1)
    return -jnp.sum(jnp.take_along_axis(logp, targets[..., None], -1)) / denominator


def flat(x):
    return [float(v) for v in np.asarray(x).ravel()]


def case(f, *inputs):
    """Result of `f` and the gradients of its inputs under the cotangent uniform("dy")."""
    y, vjp = jax.vjp(f, *inputs)
    return {"y": flat(y), "gradients": [flat(g) for g in vjp(uniform("dy", y.shape))]}


def operations():
    x, w, wt, bias = uniform("x", (2, 3, 4)), uniform("w", (4, 5)), uniform("w", (5, 4)), uniform("bias", (5,))
    picks = tokens("tokens", (2, 3), 5)
    gamma, beta = uniform("gamma", (4,)), uniform("beta", (4,))
    q, k, v = uniform("q", (2, 5, 12)), uniform("k", (2, 5, 6)), uniform("v", (2, 5, 6))
    wide = uniform("x", (2, 9), -5.0, 5.0)
    return {
        "embedding": case(lambda w: w[picks], wt),
        "linear": case(linear, x, w, bias),
        "linear_transposed": case(lambda x, w: linear(x, w, transpose_w=True), x, wt),
        "layer_norm": case(layer_norm, x, gamma, beta),
        "rms_norm": case(rms_norm, x, gamma),
        "gelu": case(lambda x: jax.nn.gelu(x, approximate=True), wide),
        "silu": case(jax.nn.silu, wide),
        "attention": case(lambda q, k, v: attention(q, k, v, 4, 2), q, k, v),
        "attention_lse": {"y": flat(jax.nn.logsumexp(scores(q, k, 4, 2), axis=-1)), "gradients": []},
        "rotary": case(lambda q: rotary(q, 3), q),
        "cross_entropy": case(lambda z: cross_entropy(z, picks, 24), uniform("x", (2, 3, 5), -3.0, 3.0)),
    }


VOCAB, D, HEADS, FF, LAYERS = 7, 8, 4, 12, 2


def gpt_parameters(std):
    p = {"wte": ((VOCAB, D), 0.0), "norm": ((D,), 1.0)}
    for layer in range(LAYERS):
        older = layer % 2 == 1
        kv = D if older else D // 2
        for norm in ("norm1", "norm2"):
            p[f"{layer}.{norm}.gamma"] = ((D,), 1.0)
            if older:
                p[f"{layer}.{norm}.beta"] = ((D,), 0.0)
        shapes = {"q": (D, D), "k": (D, kv), "v": (D, kv), "o": (D, D), "up": (D, FF), "down": (FF, D)}
        if not older:
            shapes["gate"] = (D, FF)
        for name, shape in shapes.items():
            p[f"{layer}.{name}.w"] = (shape, 0.0)
            if older:
                p[f"{layer}.{name}.bias"] = (shape[1:], 0.0)
    return {name: normal(name, shape, mean, std) for name, (shape, mean) in p.items()}


def gpt_loss(p, inputs, targets):
    h = p["wte"][inputs] * math.sqrt(D)
    for layer in range(LAYERS):
        def lin(name, x):
            return linear(x, p[f"{layer}.{name}.w"], p.get(f"{layer}.{name}.bias"))

        def norm(name, x):
            gamma, beta = p[f"{layer}.{name}.gamma"], p.get(f"{layer}.{name}.beta")
            return rms_norm(x, gamma) if beta is None else layer_norm(x, gamma, beta)

        n = norm("norm1", h)
        q, k, v = lin("q", n), lin("k", n), lin("v", n)
        if layer % 2 == 1:
            h = h + lin("o", attention(q, k, v, HEADS, HEADS))
            h = h + lin("down", jax.nn.gelu(lin("up", norm("norm2", h)), approximate=True))
        else:
            h = h + lin("o", attention(rotary(q, HEADS), rotary(k, HEADS // 2), v, HEADS, HEADS // 2))
            n = norm("norm2", h)
            h = h + lin("down", jax.nn.silu(lin("gate", n)) * lin("up", n))
    logits = linear(rms_norm(h, p["norm"]), p["wte"], transpose_w=True)
    return cross_entropy(logits, targets, inputs.size)


def gpt():
    """Loss, gradients, and the losses of ten SGD and ten AdamW steps from the same start."""
    inputs, targets = tokens("inputs", (2, 5), VOCAB), tokens("targets", (2, 5), VOCAB)
    start = gpt_parameters(0.3)
    value_and_grad = jax.jit(jax.value_and_grad(gpt_loss))
    loss, gradients = value_and_grad(start, inputs, targets)

    sgd, p = [], start
    for _ in range(10):
        value, g = value_and_grad(p, inputs, targets)
        sgd.append(float(value))
        p = {n: p[n] - 0.1 * (g[n] + 0.01 * p[n]) for n in p}

    adamw, p = [], start
    m = {n: jnp.zeros_like(x) for n, x in p.items()}
    v = dict(m)
    b1, b2, lr, eps, decay = 0.9, 0.95, 0.01, 1e-8, 0.1
    for t in range(1, 11):
        value, g = value_and_grad(p, inputs, targets)
        adamw.append(float(value))
        norm = math.sqrt(sum(float(jnp.sum(x * x)) for x in g.values()))
        g = {n: x * min(1.0, 1.0 / (norm + 1e-6)) for n, x in g.items()}
        m = {n: b1 * m[n] + (1 - b1) * g[n] for n in p}
        v = {n: b2 * v[n] + (1 - b2) * g[n] ** 2 for n in p}
        p = {
            n: p[n] - lr * (m[n] / (1 - b1**t) / (jnp.sqrt(v[n] / (1 - b2**t)) + eps) + decay * p[n])
            for n in p
        }
    return {
        "loss": float(loss),
        "gradients": {n: flat(g) for n, g in sorted(gradients.items())},
        "sgd": sgd,
        "adamw": adamw,
    }


if __name__ == "__main__":
    for name, content in (("operations", operations()), ("gpt", gpt())):
        text = ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in content.items())
        (HERE / f"{name}.json").write_text("{\n" + text + "\n}\n")
