"""Losses that are often asked for and are none of those here, each with what it is instead.

A loss has a place here if its value is a function of the cosines between class means.  These have none of that kind,
so that a similar name among the losses would mislead.  A name that a loss takes for its own stands there, not here.
"""

from __future__ import annotations

from geomsolve.losses.base import REGISTRY

REGISTRY.explain(
    ("vicreg", "vicregl", "barlow-twins", "barlow", "whitening-mse", "corinfomax", "tico"),
    "is not contrastive over classes: it decorrelates the dimensions of the embedding and compares no sample with "
    "another class, so no geometry of classes follows from it",
)
REGISTRY.explain(
    ("byol", "simsiam", "dino", "dinov2", "ibot", "data2vec", "mean-teacher", "negative-cosine-similarity"),
    "is not contrastive over classes: it has no negatives, and what keeps it from collapse is how it is trained, not "
    "the loss, so no geometry of classes follows from it",
)
REGISTRY.explain(
    ("swav", "deepcluster", "deepcluster-v2", "sela", "pcl", "protonce", "smog", "msn", "pmsn"),
    "is not contrastive over classes: it compares samples with prototypes that are learned along, so it is no function "
    "of the cosines between classes alone",
)
REGISTRY.explain(
    ("mae", "beit", "simmim", "autoencoder", "vae", "masked-autoencoder"),
    "is not contrastive over classes: it reconstructs its input and compares no samples",
)
REGISTRY.explain(
    ("proxy-nca", "proxy-nca++", "proxy-anchor", "soft-triple", "center", "magnet"),
    "compares samples with a learned proxy of each class, so it is no function of the cosines between classes alone",
)
REGISTRY.explain(
    ("sphereface", "l-softmax", "large-margin-softmax", "sub-center-arcface", "adaface"),
    "is a classifier's loss with a margin on the angle, which is not convex in the cosines, so nothing is proven: its "
    "peer is geomsolve crossmodal --loss arcface, a margin on the cosine that of --loss cosine-softmax",
)
REGISTRY.explain(
    ("siglip", "siglip2", "sigmoid-language-image"),
    "compares the two encoders of pairs, images and texts: geomsolve crossmodal --loss siglip, for the levels of a "
    "batch geomsolve levels --loss siglip; over classes with one encoder it is --loss sigmoid, whose bias is "
    "subtracted (10 for the -10 of its code)",
)
