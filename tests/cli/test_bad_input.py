"""Bad input: one clear line, exit code 2 (3 for a refused budget), nothing spent, nothing held, nothing written."""

import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.cli_world import URL, Told, files, fit_arguments, two_groups


@pytest.fixture
def refused(folder, program, balance):
    """Run a command that has to be refused, and return its one line."""

    def run(*arguments: object, code: int = 2) -> str:
        files_before, balance_before = files(folder), balance()
        told: Told = program(*arguments)
        errors = [line for line in told.lines if line.startswith("error: ")]
        assert (told.code, told.out) == (code, "")
        assert errors == told.lines[-1:]
        assert "Traceback" not in told.err
        assert "a defect" not in errors[0]
        after = balance()
        assert {name: after[name] for name in ("spent", "held", "open_runs")} == {
            name: balance_before[name] for name in ("spent", "held", "open_runs")
        }
        assert files(folder) == files_before
        return errors[0].removeprefix("error: ")

    return run


@pytest.fixture
def refused_fit(refused):
    def run(*flags: str, code: int = 2, **changed: object) -> str:
        return refused(*fit_arguments("--plain", *flags, **changed), code=code)

    return run


# --- tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["private", "public"])
def test_a_missing_table_is_named(refused_fit, side):
    """A missing table is named, and so is its side."""
    told = refused_fit(**{side: "nowhere.parquet"})
    assert told.startswith(f"no {side} table at ")
    assert "nowhere.parquet" in told


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet, no comma, no sense \x00\xff\xfe\n" * 20])
@pytest.mark.parametrize("name", ["private.parquet", "public.parquet", "public.csv"])
def test_a_file_of_another_format_is_named(refused_fit, folder, name, content):
    """A file that is empty, cut off or something else is refused as a private or a public table."""
    (folder / name).write_bytes(content)
    side = name.partition(".")[0]
    assert side in refused_fit(**{side: name})


def test_a_damaged_private_file_is_quoted_nowhere(refused_fit, folder):
    """What stands in a damaged private file never reaches the message."""
    path = folder / "private.parquet"
    path.write_bytes(path.read_bytes()[:-8] + b"SENTINEL")
    assert "SENTINEL" not in refused_fit()


def test_a_folder_without_parquet_files_is_no_private_table(refused_fit, folder):
    """An empty folder, or a glob that matches nothing, is no private table."""
    (folder / "empty").mkdir()
    assert "no table under" in refused_fit(private="empty")
    assert "no table under" in refused_fit(private="empty/*.parquet")


@pytest.mark.parametrize("side", ["private", "public"])
def test_a_table_without_rows_is_refused(refused_fit, folder, side):
    """A table of zero rows is refused on either side."""
    two_groups(0, seed=0).to_parquet(folder / f"{side}.parquet")
    assert "row" in refused_fit()


def test_public_rows_that_all_miss_a_value_are_no_rows(refused_fit, folder):
    """Public rows count only where every column has a finite value."""
    two_groups(10, seed=0).assign(b=np.nan).to_parquet(folder / "public.parquet")
    assert "no row in which every column has a finite value" in refused_fit()


def test_fewer_public_rows_than_components_are_refused(refused_fit):
    """k components need at least k public rows."""
    assert "12 public rows cannot seed 13 components" in refused_fit(components=13)


# --- columns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["private", "public"])
def test_a_missing_column_is_named(refused_fit, folder, side):
    """A column that one table lacks is named with that table."""
    two_groups(100, seed=0)[["a"]].to_parquet(folder / f"{side}.parquet")
    assert f"'b' is missing from the {side} table" in refused_fit(columns="a,b")


@pytest.mark.parametrize("columns", ["a,b", None])
@pytest.mark.parametrize("name", ["private.parquet", "public.parquet", "public.csv"])
def test_a_duplicated_column_is_named(refused_fit, folder, name, columns):
    """A column that appears twice is named, whether or not --columns asks for it by name, in Parquet and in CSV."""
    rows = [pa.array(np.arange(50.0)) for _ in range(3)]
    if name.endswith(".csv"):
        (folder / name).write_text("a,b,a\n1,2,3\n4,5,6\n7,8,9\n")
    else:
        pq.write_table(pa.table(rows, names=["a", "b", "a"]), folder / name)
    side = name.partition(".")[0]
    assert f"'a' appears more than once in the {side} table" in refused_fit(columns=columns, **{side: name})


@pytest.mark.parametrize("side", ["private", "public"])
@pytest.mark.parametrize("cells", [pa.array(["1", "2"] * 50), pa.array(range(100), pa.time64("us"))])
def test_a_column_that_is_not_numeric_is_named_with_its_type(refused_fit, folder, side, cells):
    """Text and times of day are no numbers; the message names the column and the table."""
    pq.write_table(pa.table([pa.array(np.arange(100.0)), cells], names=["a", "b"]), folder / f"{side}.parquet")
    told = refused_fit(columns="a,b")
    assert f"'b' of the {side} table" in told
    assert "not a number: name other columns" in told


def test_a_public_table_without_numbers_has_no_columns(refused_fit, folder):
    """A public table of text alone is refused, because no columns can be taken from it."""
    pd.DataFrame({"name": ["x", "y"]}).to_parquet(folder / "public.parquet")
    assert "the public table has no numeric column" in refused_fit()


@pytest.mark.parametrize(
    ("columns", "why"),
    [("", "empty"), (" ", "empty"), ("a,,b", "empty"), ("a,a", "named twice: a"), ("a,z", "'z' is missing"),
     ("a,cbrt(b)", "'cbrt(b)' is missing")],
)  # fmt: skip
def test_columns_that_cannot_be_meant_are_refused(refused_fit, columns, why):
    """Empty, doubled and unknown names in --columns are refused; an empty option is not an absent one."""
    assert why in refused_fit(columns=columns)


def test_other_private_columns_are_refused_with_the_option_that_says_which_to_use(fit, refused_fit, folder):
    """Private columns that the public table lacks are an error whose advice works when it is followed."""
    two_groups(2000, seed=1).assign(name="x", c=1).to_parquet(folder / "private.parquet")
    told = refused_fit()
    assert told.endswith("Say which columns to use: --columns a,b")
    assert fit(columns="a,b").code == 0


@pytest.mark.long
def test_a_name_with_a_comma_is_advised_as_it_has_to_be_typed(fit, refused_fit, folder):
    """Between double quotes, which the message writes and the option reads."""
    for name, rows in (("private", two_groups(2000, seed=1).assign(name="x", c=1)), ("public", two_groups(20, seed=2))):
        rows.rename(columns={"b": "b, mm"}).to_parquet(folder / f"{name}.parquet")
    told = refused_fit()
    assert told.endswith('Say which columns to use: --columns a,"b, mm"')
    assert fit(columns='a,"b, mm"').code == 0


def test_public_columns_that_the_private_table_lacks_are_refused(refused_fit, folder):
    """A public column that the private table lacks is an error."""
    two_groups(10, seed=1).assign(c=1.0).to_parquet(folder / "public.parquet")
    assert "'c' is missing from the private table" in refused_fit()


# --- numbers and budgets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("components", [0, -1, 101, 10**9, 10**30, "x", "1.5", "nan", ""])
def test_numbers_of_components_that_cannot_be_meant_are_refused(refused_fit, components):
    """--components takes whole numbers from 1 to 100."""
    assert "components" in refused_fit(components=components)


@pytest.mark.parametrize(
    "budget",
    ["zcdp:0", "zcdp:-1", "zcdp:nan", "zcdp:inf", "zcdp:1e999", "zcdp:", "zcdp", "0.5", "", "rho:1", "zcdp:1,2",
     "zcdp:1e-13", "approx:1", "approx:1,1", "approx:1,0", "approx:0,1e-6", "approx:1,nan", "approx:1,1e-6,1"],
)  # fmt: skip
def test_budgets_that_cannot_be_meant_are_refused(refused_fit, budget):
    """Zero, negative, infinite, NaN, incomplete and unknown budgets are refused."""
    refused_fit(budget=budget)


def test_a_pure_budget_cannot_pay_for_gaussian_noise(refused_fit):
    """A pure budget is refused for a method that adds Gaussian noise."""
    assert "no price under pure DP" in refused_fit(budget="pure:1", method="bks-ample")


@pytest.mark.parametrize("budget", ["zcdp:1e-12", "zcdp:0.000000000003"])
def test_a_budget_too_small_for_any_question_gives_its_hold_back(refused_fit, balance, budget):
    """A budget of a few units cannot be split over the steps, and what was held for it is free again."""
    assert "too small" in refused_fit(budget=budget)
    assert balance()["remaining"] == 2.0


def test_more_than_the_cap_is_refused_with_what_would_fit(refused_fit):
    """A budget above the cap is refused with exit code 3, all amounts, and what would fit."""
    told = refused_fit(budget="zcdp:2.5", code=3)
    for amount in ("spent 0 rho", "held 0 rho", "requested 2.5 rho", "remaining 2 rho", "What fits: zcdp:2"):
        assert amount in told


# --- names: dataset, ledger, release, model ----------------------------------------------------------------


def test_an_unregistered_dataset_is_refused_with_the_line_that_registers_it(refused_fit):
    """An unknown dataset is refused with the names that are known and the line that registers it."""
    told = refused_fit(dataset="visit")
    assert "'visit' is not registered" in told
    assert "visits" in told
    assert "pubpriv budget set visit zcdp:RHO --ledger sqlite:///" in told


@pytest.mark.parametrize("command", ["show visits", "history visits", "recover r1 --dataset visits"])
def test_a_missing_ledger_is_not_made_by_looking(refused, command):
    """Commands that look make no ledger."""
    assert "no ledger at " in refused("budget", *command.split(), "--ledger", "sqlite:///nowhere.db")


def test_a_missing_ledger_is_not_made_by_a_fit(refused_fit):
    """A fit makes no ledger."""
    assert "budget set" in refused_fit(ledger="sqlite:///nowhere.db")


def test_no_ledger_at_all_names_both_ways_to_give_one(refused, refused_fit, monkeypatch):
    """Without --ledger and PUBPRIV_LEDGER, or with an empty one, both are named."""
    for told in (refused_fit(ledger=None), refused("budget", "show", "visits")):
        assert "--ledger" in told
        assert "PUBPRIV_LEDGER" in told
    monkeypatch.setenv("PUBPRIV_LEDGER", "")
    assert "PUBPRIV_LEDGER" in refused_fit(ledger=None)


@pytest.mark.parametrize("url", ["ledger.db", "sqlite://", "sqlite:///", "mysql://user:secret@host/x", "http://x"])
def test_a_ledger_url_of_another_kind_is_refused_without_its_password(refused_fit, url):
    """Other URLs than sqlite:///PATH are refused, and a password in one is not repeated."""
    told = refused_fit(ledger=url)
    assert "sqlite:///PATH" in told
    assert "secret" not in told


def test_a_file_that_is_no_database_is_no_ledger_and_stays_as_it_is(refused_fit, folder):
    """A file that is no database is refused with exit code 5 and not touched."""
    path = folder / "notes.txt"
    path.write_text("no database at all, just a text that is long enough\n" * 100)
    before = path.read_bytes()
    assert "notes.txt is no ledger" in refused_fit(ledger="sqlite:///notes.txt", code=5)
    assert path.read_bytes() == before


@pytest.mark.long
def test_a_table_of_another_dataset_is_refused_by_every_name(fit, program, refused_fit, folder):
    """A table bound to one dataset is refused for another, also through links, globs and file URIs."""
    assert fit().code == 0
    assert program("budget", "set", "others", "zcdp:2", "--ledger", URL).code == 0
    (folder / "model.json").unlink()
    (folder / "link.parquet").symlink_to("private.parquet")
    (folder / "elsewhere").symlink_to(folder)
    names = ["private.parquet", "link.parquet", "elsewhere/private.parquet", "private*.parquet"]
    for name in [*names, f"file://{folder}/private.parquet"]:
        told = refused_fit(dataset="others", private=name)
        assert "belongs to dataset 'visits'" in told


def test_a_mistyped_private_table_is_said_not_to_be_there(fit, refused_fit):
    """Once another table is declared too: whoever follows the advice checks the path first."""
    assert fit().code == 0
    assert "nothing is at that path" in refused_fit(private="privat.parquet", out="other.json")


@pytest.mark.long
def test_another_table_of_the_dataset_is_refused_with_the_line_that_declares_it(fit, program, refused_fit, folder):
    """A second table of a dataset is refused with a command line that declares it, and that line works."""
    assert fit().code == 0
    (folder / "model.json").unlink()
    two_groups(2000, seed=3).to_parquet(folder / "newer one.parquet")
    told = refused_fit(private="newer one.parquet")
    line = told.partition("`pubpriv ")[2].partition("`")[0]
    assert line.startswith("budget set visits zcdp:2 ")
    assert program(*shlex.split(line)).code == 0  # as a shell reads it
    assert fit(private="newer one.parquet").code == 0


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"components": 3}, "n_components: 2 then, 3 now"), ({"columns": "b,a"}, "other settings"),
     ({"budget": "zcdp:0.4"}, "was opened with zcdp:0.5, not zcdp:0.4"),
     ({"public": "other.csv"}, "public rows differ")],
)  # fmt: skip
def test_a_release_id_does_not_take_other_settings(fit, refused_fit, folder, changed, why):
    """A release id is bound to components, columns, budget and public rows."""
    two_groups(3, seed=5).to_csv(folder / "other.csv", index=False)
    assert fit(release_id="r1").code == 0
    told = refused_fit(release_id="r1", **changed)
    assert why in told
    assert "another release id" in told


@pytest.mark.parametrize("release_id", ["", "a b", "../x", "x" * 101, "é"])
def test_a_release_id_is_a_plain_name(refused_fit, release_id):
    """A release id is letters, digits and a few signs; an empty one is not an absent one."""
    assert "release id" in refused_fit(release_id=release_id)


@pytest.mark.parametrize("out", [".", "private.parquet/model.json"])
def test_a_place_that_cannot_hold_a_model_is_found_before_anything_is_spent(refused_fit, out):
    """--out must name a file in a folder, which is checked first."""
    assert out in refused_fit(out=out)


@pytest.mark.long
@pytest.mark.parametrize(
    "content", ["{}", "text", '{"format": 1, "kind": "gaussian-mixture"}', '{"format": 9, "kind": 1}']
)
def test_a_file_that_is_not_this_release_is_replaced_on_request_only(fit, refused_fit, folder, content):
    """A file that is no model, or a damaged one, is replaced only with --overwrite."""
    (folder / "model.json").write_text(content)
    assert "--overwrite" in refused_fit()
    assert (folder / "model.json").read_text() == content
    assert fit("--overwrite").code == 0


@pytest.mark.parametrize("out", ["model.csv", "model.parquet", "model.HTML"])
def test_a_model_is_named_as_the_json_file_that_it_is(refused_fit, out):
    """A name that says another format is refused, before anything is spent."""
    assert "ends in .json" in refused_fit(out=out)


@pytest.mark.parametrize("out", ["private.parquet", "public.parquet", "ledger.db"])
def test_an_input_is_never_overwritten(fit, folder, out):
    """--out that names the private table, the public one or the ledger is refused, whatever is said."""
    before = (folder / out).read_bytes()
    refused = fit("--overwrite", out=out)
    assert (refused.code, (folder / out).read_bytes()) == (2, before)
    assert "inputs" in refused.err


@pytest.mark.long
def test_another_releases_model_is_replaced_on_request_only(fit, refused_fit, folder):
    """Another release's model is replaced only with --overwrite."""
    assert fit(release_id="r1").code == 0
    model = (folder / "model.json").read_bytes()
    assert "--overwrite" in refused_fit(release_id="r2")
    assert (folder / "model.json").read_bytes() == model
    assert fit("--overwrite", release_id="r2").code == 0


# --- the same with --prefect: found before a server is started ----------------------------------------------


@pytest.mark.parametrize(
    "changed", [{"private": "nowhere.parquet"}, {"budget": "zcdp:nan"}, {"components": 0}, {"dataset": "nobody"}]
)
def test_bad_input_starts_no_server(refused, folder, changed):
    """With Prefect the same errors come before a server is started."""
    refused(*fit_arguments("--prefect", **changed))
    assert not (folder / ".pubpriv").exists()


# --- awkward, but not bad ------------------------------------------------------------------------------------


@pytest.mark.long
def test_constant_and_collinear_public_columns_are_named_in_warnings(fit, folder):
    """Constant and collinear public columns do not stop a run; warnings name them."""
    for name, n in (("private", 2000), ("public", 20)):
        rows = two_groups(n, seed=n)
        rows.assign(c=1.0, e=rows.a - 2 * rows.b).to_parquet(folder / f"{name}.parquet")
    told = fit()
    warnings = [line for line in told.lines if line.startswith("warning: ")]
    assert told.code in {0, 4}
    assert any("column c is constant" in line for line in warnings)
    assert any("column e is a linear combination" in line for line in warnings)


def test_commands_that_cannot_be_understood_point_to_their_help(refused):
    """Unknown commands and options, and missing arguments, are one line that names the help to read."""
    assert refused("fit", "gausian") == "No such command 'gausian'. Did you mean 'gaussian'? see `pubpriv fit --help`"
    for arguments in (["nonsense"], ["fit", "mixture"], ["budget", "show"], ["fit", "mixture", "--nonsense"]):
        assert "--help`" in refused(*arguments)
