"""Studies of several kinds, to report on."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs

NASTY = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """A study with some labels; the pool's labels follow its scores."""
    studies, folder = [], tmp_path_factory.mktemp("studies")

    def make(measure="f1", design="adaptive", labels=120, classes=(0, 1), size=3000, **options):
        rng = np.random.default_rng(0)
        n = len(classes)
        if n == 2:
            logit = rng.normal(-3, 2, size)
            scores = {name: 1 / (1 + np.exp(-logit)) for name in options.pop("systems", ["model"])}
            label = (rng.random(size) < next(iter(scores.values()))).astype(int)
        else:
            scores = rng.dirichlet(np.ones(n), size)
            label = np.array([rng.choice(n, p=row) for row in scores])
        pool = hs.Pool(scores, strata=32, classes=classes, **options)
        show = {"name_l": [f"{NASTY} {i}" for i in range(size)], "name_r": ["b & c"] * size}
        path = folder / f"study {len(studies)}.haystat"
        study = hs.Study.create(path, pool, measure, design, show=show, random_state=0)
        studies.append(study)
        for _ in range(labels // 40):
            questions = study.ask(40, NASTY)
            study.tell({q.item: classes[label[q.item]] for q in questions}, NASTY)
        return study, label

    yield make
    for study in studies:
        study.close()
