"""A notebook, executed by nbclient in an IPython kernel, in a process of its own."""

import os
import sys
from pathlib import Path

# The kernel finds the libraries where this Python does.
os.environ["JUPYTER_PATH"] = str(Path(sys.prefix) / "share/jupyter")
os.environ["IPYTHONDIR"] = str(Path(os.environ["XDG_CACHE_HOME"]) / "ipython")

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient

CELLS = [
    "import jax, jax.numpy as jnp\nx = jax.random.normal(jax.random.key(0), (64, 8))",
    "%%time\nstep = jax.jit(jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2)))\nw = jnp.ones((8, 3))",
    "for _ in range(5):\n    value, slope = step(w)\n    w = w - 0.1 * slope",
    "import numpy as np\nfrom hashlib import sha256\nsha256(np.asarray(w).tobytes()).hexdigest()[:32]",
]


class ThisPython(KernelSpecManager):
    """The kernel of this environment, whether its description is installed or not."""

    def get_kernel_spec(self, name):
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, display_name=name, language="python")


notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
client = NotebookClient(notebook, timeout=300, kernel_name="python3")
client.create_kernel_manager()
client.km.kernel_spec_manager = ThisPython()
client.execute()
print(notebook.cells[-1].outputs[-1]["data"]["text/plain"].strip("'"))
