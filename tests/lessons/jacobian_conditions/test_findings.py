"""The chapter's findings on lengths whose answer is known, and the network that its pages train."""

from __future__ import annotations

import pytest
import torch

from course_lib import datasets, jacobians
from course_lib.lessons.jacobian_conditions import findings as about
from course_lib.lessons.jacobian_conditions import people
from course_lib.lessons.shared.findings import FindingError

GROWING = torch.tensor([[1.0, 2.0], [1.0, 2.5], [1.5, 3.0]], dtype=torch.float64)  # (steps + 1, watched)
FALLING = GROWING.flip(0)


def test_a_step_that_keeps_the_length_does_not_shorten() -> None:
    assert not about.shorter(GROWING).any()
    assert about.shorter(FALLING).tolist() == [[True, True], [False, True]]


CASES = [
    (about.no_film_shortens, ([GROWING],), ([FALLING],)),
    (about.every_person_ends_shorter, ([FALLING],), ([GROWING],)),
    (about.most_moves_shorten_people, ([FALLING],), ([GROWING],)),
    (about.the_first_step_jumps, ([GROWING * torch.tensor([[1.0], [20.0], [20.0]])],), ([GROWING],)),
    (about.these_changes_never_shorten, ({"plain": [GROWING]},), ({"plain": [GROWING], "decay": [FALLING]},)),
    (about.these_changes_shorten, ({"decay": [0.2]}, [0.0]), ({"decay": [0.2], "scale": [0.0]}, [0.0])),
    (about.inversion_always_shortens, ([1.0],), ([0.999],)),
    (about.own_film_tables_only_lengthen, ({"table": [GROWING]},), ({"table": [GROWING, FALLING]},)),
    (about.shared_tables_shorten_films, ([0.5], [1.0]), ([1.0], [1.0])),
    (about.people_move_each_other, ([0.7],), ([0.0],)),
    (about.others_push_as_well, ([0.9],), ([0.0],)),
    (about.transformer_moves_together, ([0.99], 24), ([0.2], 24)),
    (about.other_towers_can_be_pushed, ({"linear": [0.3, 0.32]}, [0.0, 0.0]), ({"scale": [0.0, 0.0]}, [0.0, 0.0])),
    (about.each_dial_raises_the_share, ({"lr": ([0.1, 0.12], [0.3, 0.32])},), ({"lr": ([0.3, 0.3], [0.1, 0.2])},)),
]


def test_outputs_that_fall_because_a_layer_shrinks_support_nothing() -> None:
    rise_and_fall, layer = [1.0, 9.0, 3.0], [1.0, 2.0, 3.0]
    assert about.outputs_fall_while_layers_grow.evidence([(rise_and_fall, [layer])])
    for outputs, layers in ((rise_and_fall, [layer, layer[::-1]]), (layer, [layer])):
        with pytest.raises(FindingError):
            about.outputs_fall_while_layers_grow.evidence([(outputs, layers)])


def test_the_toy_is_compared_with_chance_and_the_cosines_with_the_start() -> None:
    assert about.toy_shares_beat_chance.cases({"E4": [0.2]}, 0.11)["E4"].value == pytest.approx(0.09)
    assert about.people_spread_out.cases([0.9], [0.5])["MovieTweetings"].value == pytest.approx(0.4)


def test_the_network_is_no_lookup_and_the_film_table_is_one() -> None:
    films = datasets.load("movietweetings", min_rating=7, core=10)
    towers, some = people.towers(films, seed=0), torch.arange(3)
    assert not towers.shared_parameters()
    assert not jacobians.lookup_equivalent(towers.left, some)
    assert jacobians.lookup_equivalent(towers.right, some)
    again = people.network(films, seed=0)
    assert torch.equal(again(some), towers.left(some))
    assert not any(name.endswith("bias") for name, _ in people.network(films, seed=0, bias=False).named_parameters())
