"""The training step that piper-run's example `step` times, in JAX on so many threads: same model, batch, optimizer, f32.

Prints the least and the median milliseconds of a step, peak mebibytes of the process, and the loss of the last step.
"""

import os
import resource
import sys
import time

width, layers, heads, length, batch, steps, threads = map(int, sys.argv[1:8])
os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:threads]))
if threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

VOCABULARY = 256
rng = np.random.default_rng(7)


def normal(scale, *shape):
    return jnp.asarray(rng.normal(0.0, scale, shape), jnp.float32)


def block():
    names = {"q": (width, width, 0.08), "k": (width, width, 0.08), "v": (width, width, 0.08), "o": (width, width, 0.04),
             "up": (width, 4 * width, 0.08), "down": (4 * width, width, 0.04)}
    made = {name: normal(scale, rows, cols) for name, (rows, cols, scale) in names.items()}
    return made | {"norm1": jnp.ones(width), "norm2": jnp.ones(width)}


params = {"wte": normal(0.05, VOCABULARY, width), "blocks": [block() for _ in range(layers)], "norm": jnp.ones(width),
          "head": normal(0.05, width, VOCABULARY)}


def rms(x, gamma):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * gamma


half = width // heads // 2
angles = np.arange(length)[:, None] * 10000.0 ** (-2.0 * np.arange(half) / (2 * half))
cos, sin = (jnp.asarray(f(angles), jnp.float32)[None, :, None, :] for f in (np.cos, np.sin))
mask = jnp.tril(jnp.ones((length, length), bool))


def rotary(x):
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def forward(p, tokens, targets):
    x = p["wte"][tokens]
    for w in p["blocks"]:
        n = rms(x, w["norm1"])
        q, k, v = (jnp.reshape(n @ w[name], (batch, length, heads, 2 * half)) for name in "qkv")
        scores = jnp.einsum("bihd,bjhd->bhij", rotary(q), rotary(k)) / np.sqrt(2 * half)
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), -1)
        mixed = jnp.einsum("bhij,bjhd->bihd", weights, v).reshape(batch, length, width)
        x = x + mixed @ w["o"]
        x = x + jax.nn.gelu(rms(x, w["norm2"]) @ w["up"], approximate=True) @ w["down"]
    logits = jax.nn.log_softmax(rms(x, p["norm"]) @ p["head"], -1)
    return -jnp.mean(jnp.take_along_axis(logits, targets[..., None], -1))


def step(p, m, v, number, tokens, targets):
    loss, g = jax.value_and_grad(forward)(p, tokens, targets)
    tree = jax.tree.map
    scale = jnp.minimum(1.0, 1.0 / (jnp.sqrt(sum(jnp.sum(x * x) for x in jax.tree.leaves(g))) + 1e-6))
    g = tree(lambda x: x * scale, g)
    m = tree(lambda m, g: 0.9 * m + 0.1 * g, m, g)
    v = tree(lambda v, g: 0.95 * v + 0.05 * g * g, v, g)
    first, second = 1 - 0.9**number, 1 - 0.95**number
    update = lambda p, m, v: p - 0.001 * (m / first / (jnp.sqrt(v / second) + 1e-8) + 0.1 * p)
    return tree(update, p, m, v), m, v, loss


step = jax.jit(step, donate_argnums=(0, 1, 2))
m, v = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))
times = []
for number in range(1, steps + 2):
    tokens = jnp.asarray(rng.integers(0, VOCABULARY, (batch, length + 1)), jnp.int32)
    start = time.perf_counter()
    params, m, v, loss = step(params, m, v, jnp.float32(number), tokens[:, :-1], tokens[:, 1:])
    loss = float(loss)
    times.append(1e3 * (time.perf_counter() - start))
times = sorted(times[1:])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{times[0]:.1f} {times[len(times) // 2]:.1f} {peak:.0f} {loss:.4f}")
