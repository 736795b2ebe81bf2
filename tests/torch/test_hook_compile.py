"""torch.compile traces as it does without us."""
import pytest


@pytest.mark.parametrize("modules", ["0", "1"])
def test_compiled_as_without(torch, modules):
    """No graph breaks, no graphs, no calls in them more or less: neither by the hook behind optimizers' steps
    nor by those around modules."""
    bare = torch.job("compiled", inject=False)
    run = torch.job("compiled", modules=modules, log="warn")
    assert (run.status, run.stdout, run.said()) == (0, bare.stdout, []), run.stderr
