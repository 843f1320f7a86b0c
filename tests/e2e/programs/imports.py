"""Computes something with OpenSSL, zlib, NumPy and JAX, and with rekindle's package; prints what each answers."""

import hashlib
import json
import ssl
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import rekindle

text = b"rekindle" * 1000
x = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
result = jax.jit(lambda x: jnp.tanh(x @ x.T).sum())(x)
print(
    json.dumps(
        {
            "openssl": ssl.OPENSSL_VERSION,
            "ciphers": len(ssl.create_default_context().get_ciphers()),
            "blake2b": hashlib.blake2b(text).hexdigest(),
            "sha512": hashlib.new("sha512", text).hexdigest(),
            "zlib": zlib.decompress(zlib.compress(text)) == text,
            "solve": float(np.linalg.det(x + np.eye(8, dtype=np.float32))).hex(),
            "result": float(result).hex(),
            "compiled": (rekindle.stats() or {}).get("compiled"),
        }
    )
)
