"""course_lib.lessons.shared.scalars: what is shown, what is written, and what is refused."""

from fractions import Fraction

import nbformat
import numpy as np
import pytest
import torch

from course_lib.lessons.shared.scalars import Table, format_scalar, publish
from tests.notebooks.validation import read_scalars


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (517770, None, "517770"),
        (2.0, None, "2"),
        (1 / 3, None, "0.333333"),
        (1e-17, None, "1e-17"),
        (Fraction(1, 3), None, "1/3"),
        (Fraction(1, 3), 2, "0.33"),
        (0.4, 2, "0.40"),
        (-0.001, 2, "0.00"),
        (-0.006, 2, "-0.01"),
        (np.float32(0.5), None, "0.5"),
        (np.int64(7), None, "7"),
        (np.array(7.5), None, "7.5"),
        (torch.tensor([2.5]), 1, "2.5"),
    ],
)
def test_a_number_is_shown_with_the_digits_asked_for(value, digits, text: str) -> None:
    assert format_scalar(value, digits=digits) == text


@pytest.mark.parametrize(
    "value", [True, "1", None, [1.0], 1j, np.nan, np.inf, np.zeros(2), torch.zeros(3), np.bool_(True)]
)
def test_what_is_not_one_finite_number_is_refused(value) -> None:
    with pytest.raises(ValueError, match=r"^value: got .*expected"):
        publish("name", value)


@pytest.mark.parametrize("name", ["", "Ratio", "a b", "1st", "a--b", "-a", "p@5", None])
def test_a_badly_formed_name_is_refused(name) -> None:
    with pytest.raises(ValueError, match=r"^name: got .*expected"):
        publish(name, 1.0)


@pytest.mark.parametrize("digits", [-1, 1.5, True])
def test_digits_must_count_decimals(digits) -> None:
    with pytest.raises(ValueError, match=r"^digits: got"):
        format_scalar(1.0, digits=digits)


def executed(*kept: dict[str, object]) -> nbformat.NotebookNode:
    outputs = [nbformat.v4.new_output("display_data", metadata={"scrapbook": one}) for one in kept]
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=outputs)])


def test_the_full_value_goes_to_the_output_and_the_rounded_one_to_the_reader(monkeypatch, capsys) -> None:
    import IPython
    import IPython.display

    kept = []
    monkeypatch.setattr(IPython, "get_ipython", object)
    monkeypatch.setattr(IPython.display, "display", lambda _, raw, metadata: kept.append(metadata["scrapbook"]))
    publish("ratio", 1 / 3, digits=2)
    publish("pairs", Fraction(7, 2))
    assert capsys.readouterr().out == "ratio = 0.33\npairs = 7/2\n"
    assert read_scalars(executed(*kept)) == {"ratio": 1 / 3, "pairs": 3.5}


def test_one_name_with_two_values_is_an_error() -> None:
    one, same, other = ({"name": "a", "value": value} for value in (1.0, 1.0, 2.0))
    assert read_scalars(executed(one, same, {"name": "text"})) == {"a": 1.0}
    with pytest.raises(ValueError, match="'a' was published twice"):
        read_scalars(executed(one, same, other))


def test_prose_finds_the_text_with_its_zeros(monkeypatch) -> None:
    import IPython
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython, "get_ipython", object)
    monkeypatch.setattr(IPython.display, "display", lambda data, **options: shown.append((data, options)))
    publish("ratio", 0.4, digits=2)
    [(data, options)] = shown
    prefix = options["metadata"]["scrapbook"]["mime_prefix"]
    assert options["metadata"]["scrapbook"]["name"] == "ratio"
    assert data == {f"{prefix}text/plain": "'0.40'"}  # quoted: MyST-NB evaluates literals, and 0.40 would become 0.4


TABLE = Table(
    "Two losses <each>.", ["loss", "P@5", "pairs"], [["In-Batch", 0.0123, 1500], ["Unbiased", None, 7]], digits=2
)


def test_a_table_is_aligned_text_where_there_is_no_html() -> None:
    assert repr(TABLE) == "Two losses <each>.\nloss       P@5  pairs\nIn-Batch  0.01  1,500\nUnbiased     –      7"


def test_a_table_names_its_columns_and_rows_for_a_screen_reader() -> None:
    page = TABLE._repr_html_()
    assert page.count('scope="col"') == 3 and page.count('scope="row"') == 2
    assert "<caption>Two losses &lt;each&gt;.</caption>" in page
    assert '<td class="number">0.01</td><td class="number">1,500</td>' in page


def test_words_are_not_numbers() -> None:
    page = Table("c", ["name", "note"], [["a", "words"], ["b", None]])._repr_html_()
    assert "number" not in page and "<td>–</td>" in page


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 1 cells, expected one for each of the 2 heads"):
        Table("c", ["a", "b"], [["x", 1], ["y"]])
