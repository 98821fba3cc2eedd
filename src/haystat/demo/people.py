"""Invented people, and what becomes of them when somebody else writes them down."""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Person = dict[str, str]
Table = dict[str, NDArray[np.str_]]
"""Column name -> one text per person; a missing value is the empty text."""

FIELDS = ("first", "last", "street", "city", "born", "phone")

FIRST_STARTS = (
    "Al An Bea Ber Car Cla Da El Em Fe Ga Han I Jo Ju Ka Le Li Lu Ma Mar Mi Na No Ol Pa Ra Ro Sa "
    "Se So Ta The Va Vi Wil"
).split()
FIRST_ENDS = (
    "na lia ra bert da lina den dra no fan la len ris lo nah nas ni ria rick rina ron sa seph "
    "son ta tin to vin wen"
).split()
LAST_STARTS = (
    "Hart Mil Wal Ash Bar Beck Black Brad Bright Clay Cros Dal Dun East Ell Fair Fen Gar Gold "
    "Gran Hal Hay Hol Ken King Lang Lind Mar Mor New Nor Oak Pem Pres Ray Red Ros Rush Shel Stan "
    "Thorn War Wes Whit Win Wood"
).split()
LAST_ENDS = (
    "son ley ton er man field ford berg bourne by dale den gate ham hurst land lock more ridge "
    "sen shaw stead stone ward well wick worth"
).split()
STREETS = (
    "Mill Church Station Park High Bridge School Garden Market Orchard Chapel River Meadow Castle "
    "Forest Spring Abbey Harbour Quarry Lime Elm Willow Poplar Rowan"
).split()
STREET_KINDS = "Street Road Lane Avenue Close".split()
CITIES = (
    "Harwick Lindale Penmouth Oxbridge Stanmere Easthaven Caldwell Ferrybank Greyton Holmsea "
    "Kirkford Longmarsh Northwold Redcliff Saltham Thornby Ullport Westerley Wrenfield Yarrow"
).split()
LETTERS = "abcdefghijklmnoprstuvwy"


def _common(words: list[str], rng: Generator) -> str:
    """One of the words; the earlier in the list, the more common, as names are."""
    return words[int(len(words) * rng.random() ** 1.5)]


def _address(rng: Generator) -> Person:
    street = f"{rng.integers(1, 200)} {rng.choice(STREETS)} {_common(STREET_KINDS, rng)}"
    return {"street": street, "city": _common(CITIES, rng)}


def _phone(city: str, rng: Generator) -> str:
    """An area code that belongs to the city, and six digits."""
    return f"0{210 + 7 * CITIES.index(city)}-{rng.integers(10**6):06d}"


def new_person(rng: Generator) -> Person:
    """A person with every field filled in."""
    address = _address(rng)
    year, month, day = rng.integers([1935, 1, 1], [2006, 13, 29])
    return {
        "first": _common(FIRST_STARTS, rng) + _common(FIRST_ENDS, rng),
        "last": _common(LAST_STARTS, rng) + _common(LAST_ENDS, rng),
        **address,
        "born": f"{year}-{month:02d}-{day:02d}",
        "phone": _phone(address["city"], rng),
    }


def relative(person: Person, rng: Generator) -> Person:
    """Somebody else of the same household, who may bear the same first name or be a twin.

    Relatives are what makes a matcher's false positives.
    """
    other = new_person(rng)
    shared = ["last", "street", "city", "phone"]
    kind = rng.random()
    if kind < 0.1:
        shared.append("born")
    elif kind < 0.3:
        shared.append("first")
    return other | {field: person[field] for field in shared}


def _typo(text: str, rng: Generator) -> str:
    """The text with one letter or digit changed, left out, doubled or swapped with the next."""
    at = int(rng.integers(len(text)))
    kind = rng.integers(4)
    if kind == 0:
        new = str(rng.integers(10)) if text[at].isdigit() else str(rng.choice(list(LETTERS)))
        return text[:at] + new + text[at + 1 :]
    if kind == 1 and len(text) > 1:
        return text[:at] + text[at + 1 :]
    if kind == 2:
        return text[:at] + text[at] + text[at:]
    return text[:at] + text[at : at + 2][::-1] + text[at + 2 :]


def _misspelt(field: str) -> Callable[[Person, Generator], Person]:
    return lambda person, rng: {field: _typo(person[field], rng)}


def _missing(field: str) -> Callable[[Person, Generator], Person]:
    return lambda person, rng: {field: ""}


def _names_swapped(person: Person, rng: Generator) -> Person:
    return {"first": person["last"], "last": person["first"]}


def _initial_only(person: Person, rng: Generator) -> Person:
    return {"first": person["first"][0] + "."}


def _new_last_name(person: Person, rng: Generator) -> Person:
    return {"last": new_person(rng)["last"]}


def _moved(person: Person, rng: Generator) -> Person:
    address = _address(rng)
    return address | {"phone": _phone(address["city"], rng)}


def _new_phone(person: Person, rng: Generator) -> Person:
    return {"phone": _phone(person["city"], rng)}


def _wrong_digit_in_birth_date(person: Person, rng: Generator) -> Person:
    at = int(rng.choice([2, 3, 6, 9]))
    return {"born": person["born"][:at] + str(rng.integers(10)) + person["born"][at + 1 :]}


def _day_and_month_swapped(person: Person, rng: Generator) -> Person:
    year, month, day = person["born"].split("-")
    return {"born": f"{year}-{day}-{month}"}


# How often each thing happens to a record that was taken down with care. Order matters: a new
# phone needs the city as it is really spelt, and every change needs a text, so fields are emptied
# last.
CHANGES: list[tuple[float, Callable[[Person, Generator], Person]]] = [
    (0.15, _moved),
    (0.12, _new_phone),
    (0.05, _new_last_name),
    (0.15, _misspelt("first")),
    (0.15, _misspelt("last")),
    (0.15, _misspelt("street")),
    (0.05, _misspelt("city")),
    (0.06, _misspelt("phone")),
    (0.06, _wrong_digit_in_birth_date),
    (0.03, _day_and_month_swapped),
    (0.06, _initial_only),
    (0.04, _names_swapped),
    (0.02, _missing("first")),
    (0.08, _missing("street")),
    (0.04, _missing("city")),
    (0.12, _missing("born")),
    (0.15, _missing("phone")),
]
CARELESS_SHARE = 0.5
CARELESS_FACTOR = 3.0


def second_record(person: Person, rng: Generator) -> Person:
    """The person as another office wrote them down, some time later, with more or less care."""
    factor = CARELESS_FACTOR if rng.random() < CARELESS_SHARE else 1.0
    record = dict(person)
    for probability, change in CHANGES:
        if rng.random() < factor * probability:
            record |= change(record, rng)
    return record


def table(people: list[Person]) -> Table:
    """The people as columns."""
    return {field: np.array([person[field] for person in people], dtype=str) for field in FIELDS}


def two_tables(
    n_left: int, n_right: int, n_matches: int, rng: Generator
) -> tuple[Table, Table, NDArray[np.int64]]:
    """Two tables with n_matches people in common, and the (n_matches, 2) rows where they stand.

    Of the others on the right, 40% are relatives of somebody on the left.
    """
    left = [new_person(rng) for _ in range(n_left)]
    matched_left = rng.choice(n_left, n_matches, replace=False)
    matched_right = rng.choice(n_right, n_matches, replace=False)
    sources = dict(zip(matched_right.tolist(), matched_left.tolist(), strict=True))
    right = []
    for row in range(n_right):
        if row in sources:
            person = left[sources[row]]
        elif rng.random() < 0.4:
            person = relative(left[rng.integers(n_left)], rng)
        else:
            person = new_person(rng)
        right.append(second_record(person, rng))
    return table(left), table(right), np.column_stack([matched_left, matched_right])
