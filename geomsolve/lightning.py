"""The distance to the predicted geometry as a callback of Lightning: measured along, logged at the end of each epoch.

    from geomsolve.lightning import GeometryCallback

    probe = GeometryProbe([5000, 500, 50], loss="supcon", temperature=0.1)
    trainer = Trainer(callbacks=[GeometryCallback(probe)])

``training_step`` returns, beside its loss, the embeddings and labels of the batch:

    return {"loss": loss, "embeddings": z, "labels": y}

Needs the extra ``lightning``; the older package ``pytorch_lightning`` does as well.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from geomsolve.errors import InputError

if TYPE_CHECKING:
    from geomsolve.torch import GeometryProbe

_HOME = "lightning.pytorch" if find_spec("lightning") is not None else "pytorch_lightning"
_Callback: Any = import_module(_HOME).Callback


class GeometryCallback(_Callback):  # type: ignore[misc]
    """Updates ``probe`` with every training batch, logs its scalars after ``prefix`` when an epoch ends, and resets it.

    ``embeddings`` and ``labels`` are keys of what ``training_step`` returns.
    """

    def __init__(
        self, probe: GeometryProbe, *, embeddings: str = "embeddings", labels: str = "labels", prefix: str = "geometry/"
    ) -> None:
        super().__init__()
        self.probe = probe
        self.keys = (embeddings, labels)
        self.prefix = prefix

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the epoch before."""
        self.probe.reset()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Add a batch."""
        missing = [key for key in self.keys if not isinstance(outputs, dict) or key not in outputs]
        if missing:
            raise InputError(
                f"training_step has to return {' and '.join(map(repr, missing))} beside its loss, as in "
                '{"loss": loss, "embeddings": z, "labels": y}'
            )
        self.probe.update(*(outputs[key] for key in self.keys))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Log the scalars, which are those of all processes already."""
        pl_module.log_dict(self.probe.compute().to_dict(self.prefix))
