import torch


def kernel_block(A, B, x_i, x_j, bias):
    A, B, x_i, x_j = map(torch.tensor, (A, B, x_i, x_j))
    eye = torch.eye(len(B), dtype=torch.int64)
    return (x_i @ x_j) * (B @ B.T) + ((A @ x_i) @ (A @ x_j) + bias) * eye


def stays_tangent(kernel, embeddings):
    K, q = torch.tensor(kernel), torch.tensor(embeddings)
    pushed = torch.einsum("ijab,ia->ijb", K, q)
    minors = pushed[:, :, :, None] * q[None, :, None, :]
    return (minors == minors.transpose(2, 3)).all()


def dense_inputs(n, bias):
    centred = torch.eye(n, dtype=torch.float64) - (1 / n if bias else 0)
    return (n / 2) ** 0.5 * torch.cat([centred, centred], dim=1)


def share_near_right_angle(weights, inputs, gradients):
    weights, inputs, gradients = (torch.tensor(x, dtype=torch.float64) for x in (weights, inputs, gradients))
    q, step = inputs @ weights.T, -(inputs @ (gradients.T @ inputs).T)
    angles = torch.rad2deg(torch.acos(torch.cosine_similarity(q, step, dim=1).clamp(-1, 1)))
    return ((angles - 90).abs() <= 10).double().mean()


def chance_share(d):
    angles = torch.linspace(0, torch.pi, 180 * 200 + 1, dtype=torch.float64)
    law = torch.sin(angles) ** (d - 2)
    return torch.trapezoid(law[80 * 200 : 100 * 200 + 1]) / torch.trapezoid(law)
