"""Many small computations, each its own program, so that torch_xla sends programs of many kinds.

    torch_ops.py

Prints a digest of each result, or the error if the plugin cannot compile or run the program.
"""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn
from torch.nn import functional

import torch_report

OPS = {}


def op(make):
    OPS[make.__name__] = make
    return make


def data(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    values = torch.randn(*shape, generator=generator)
    return (values * 10 if not dtype.is_floating_point and not dtype.is_complex else values).to(dtype).to("xla")


def whole(*shape, below=8):
    return torch.randint(below, shape, generator=torch.Generator().manual_seed(sum(shape))).to("xla")


@op
def elementwise():
    x = data(8, 8)
    return [x.sin() + x.exp().log1p() - x.abs().rsqrt(), torch.where(x > 0, x, -x), x.clamp(-1, 1), x.erf(), x % 0.7]


@op
def whole_numbers():
    x, y = data(16, dtype=torch.int32), data(16, dtype=torch.int64)
    return [x // 3, x % 5, x & 7, x | 1, x ^ y, x << 2, y >> 1, ~x, x.to(torch.uint8), x.to(torch.int8) + 1]


@op
def logic():
    x = data(9) > 0
    return [x & ~x, x.any(), x.all(), torch.logical_xor(x, data(9) > 1), x.nonzero().shape[1] * data(2)]


@op
def types():
    x = data(4, 4)
    return [x.to(t) for t in (torch.float16, torch.bfloat16, torch.float64, torch.int16, torch.bool)]


@op
def complex_numbers():
    x = torch.complex(data(6), data(6))
    return [x.real, x.imag, x.abs(), (x * x.conj()).real, torch.view_as_real(x.exp())]


@op
def reductions():
    x = data(6, 7, 8)
    return [x.sum((0, 2)), x.mean(), x.amax(1), x.prod(0), x.var(2), x.norm(), x.logsumexp(1), x.argmin(2), x.cumsum(1)]


@op
def sorting():
    x = data(5, 20)
    return [*x.sort(dim=1, descending=True), *x.topk(3), x.median(1).values, x.kthvalue(2).values, x[0].unique()]


@op
def shapes():
    x = data(4, 6, 2)
    parts = [x.permute(2, 0, 1), x.flip(1), x.roll(2, 1), x.unfold(1, 3, 2), x.repeat(1, 2, 1), x.diagonal(0, 0, 1)]
    return [*parts, torch.cat([x, x], 2), torch.stack([x, -x]), x[:, 1:5:2], x.tril(), functional.pad(x, (1, 2, 0, 3))]


@op
def indexing():
    x, i = data(10, 4), whole(6)
    y = x.clone()
    y[i] = 1.5
    return [x[i], y, x.gather(0, whole(3, 4)), x.scatter(0, whole(3, 4), 2.0), x.scatter_add(0, whole(3, 4), data(3, 4)),
            x.index_select(1, whole(2, below=4)), x.index_add(0, i, data(6, 4)), x.masked_fill(x > 0, 0)]  # fmt: skip


@op
def one_element():
    x = data(12)
    x[3] = x[4] + 1
    return [x, x[5].item() * data(2)]


@op
def matrices():
    x, y = data(3, 4, 5), data(3, 5, 6)
    return [x @ y, torch.einsum("bij,bjk->ki", x, y), torch.outer(data(4), data(5)), data(4, 4) @ data(4), x.mT.bmm(x)]


@op
def decompositions():
    x = data(4, 4)
    x = x @ x.T + 5 * torch.eye(4).to("xla")
    return [torch.linalg.cholesky(x), torch.linalg.solve_triangular(x.tril(), data(4, 2), upper=False)]


@op
def factors():
    return [*torch.linalg.qr(data(5, 3)), torch.linalg.svd(data(4, 4)).S, torch.linalg.inv(data(3, 3))]


@op
def fourier():
    return [torch.fft.rfft(data(16)).abs(), torch.fft.fft2(data(4, 4).to(torch.complex64)).real]


@op
def convolutions():
    x = data(2, 4, 9, 9)
    grouped = functional.conv2d(x, data(8, 2, 3, 3), groups=2, stride=2, dilation=2, padding=2)
    turned = functional.conv_transpose2d(x, data(4, 3, 3, 3), stride=2, output_padding=1)
    return [grouped, turned, functional.conv1d(data(2, 3, 10), data(4, 3, 3)), functional.conv3d(data(1, 2, 4, 4, 4), data(2, 2, 2, 2, 2))]


@op
def pooling():
    x = data(2, 3, 8, 8)
    pooled, where = functional.max_pool2d(x, 2, return_indices=True)
    return [pooled, where, functional.avg_pool2d(x, 3, 2, 1), functional.adaptive_avg_pool2d(x, 4),
            functional.interpolate(x, scale_factor=2, mode="bilinear"), functional.interpolate(x, size=(5, 5))]  # fmt: skip


@op
def pooling_backward():
    x = data(2, 3, 8, 8).requires_grad_()
    (functional.max_pool2d(x, 2).sum() + functional.avg_pool2d(x, 2).square().sum()).backward()
    return [x.grad]


@op
def norms():
    x = data(4, 6, 5, 5).requires_grad_()
    norm, group = nn.BatchNorm2d(6).to("xla"), nn.GroupNorm(3, 6).to("xla")
    (norm(x) + group(x)).square().sum().backward()
    return [x.grad, norm.weight.grad, norm.running_var, nn.BatchNorm2d(6).to("xla").eval()(x)]


@op
def losses():
    x = data(6, 5).requires_grad_()
    total = functional.cross_entropy(x, whole(6, below=5)) + functional.mse_loss(x, data(6, 5))
    total = total + functional.kl_div(x.log_softmax(1), data(6, 5).softmax(1), reduction="batchmean")
    (total + functional.binary_cross_entropy_with_logits(x, (data(6, 5) > 0).float())).backward()
    return [x.grad]


@op
def embedding():
    table = data(12, 4).requires_grad_()
    functional.embedding(whole(5, 3, below=12), table).square().sum().backward()
    return [table.grad]


@op
def attention():
    x = data(2, 4, 6, 8).requires_grad_()
    functional.scaled_dot_product_attention(x, x, x, is_causal=True).sum().backward()
    return [x.grad]


@op
def recurrent():
    layer = nn.GRU(4, 6, num_layers=2, bidirectional=True).to("xla")
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(0.1)
    return [layer(data(5, 2, 4))[0]]


@op
def random_numbers():
    xm.set_rng_state(11)
    return [torch.rand(8, device="xla"), torch.randn(8, device="xla"), functional.dropout(data(8, 8), 0.3),
            torch.bernoulli(torch.full((9,), 0.5, device="xla")), torch.randint(9, (5,), device="xla")]  # fmt: skip


@op
def loops():
    from torch_xla.experimental.fori_loop import while_loop

    # Numbers other than 0 and 1 would become inputs of the loop, which torch_xla does not expect.
    start = (torch.tensor(5, dtype=torch.int32, device="xla"), data(4))
    return list(while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x + x), start))


@op
def scans():
    from torch_xla.experimental.scan import scan

    return list(scan(lambda carry, x: ((carry + x).tanh(), carry * x), data(4), data(6, 4)))


@op
def quantized():
    x = data(8, 8)
    return [(x / 0.1).round().clamp(-128, 127).to(torch.int8).to(torch.float32) * 0.1]


@op
def barrier():
    x = data(4) * 2
    xm.optimization_barrier_([x])
    return [x + 1]


@op
def reduced_over_replicas():
    return [xm.all_reduce(xm.REDUCE_SUM, data(4)), xm.all_gather(data(4))]


@op
def constants():
    return [torch.arange(300, device="xla").reshape(20, 15) + 1, torch.eye(5, device="xla"), torch.linspace(0, 1, 7, device="xla")]


@op
def optimizers():
    parameters = [data(4, 3).requires_grad_() for _ in range(2)]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True)
    (parameters[0] * parameters[1]).sum().backward()
    optimizer.step()
    return parameters


def main():
    results, failed = {}, {}
    for name, make in OPS.items():
        try:
            tensors = make()
            torch_xla.sync()
            results[name] = torch_report.digest(tensors)
        except Exception as error:  # from the plugin or torch_xla: a test lists the expected ones
            failed[name] = str(error)[:300]
    torch_report.finish(results, failed=failed)


if __name__ == "__main__":
    main()
