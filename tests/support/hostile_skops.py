"""Model files as an attacker makes them, of harmless types alone."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, LabelEncoder, OneHotEncoder

BASE64 = sorted("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def key_speller(file: str, offset: int, count: int, reads: str = "filename") -> BaseEstimator:
    """A classifier that answers a row [i], i < ``count``, with character ``offset + i`` of a file.

    Its stack adds the file's name to every row. One vectorizer for each character reads the file where the
    votes are made, and a network of one hidden layer picks the character that the row asks for.
    """
    places, letters = range(count), len(BASE64)
    rows = np.array([[file, f"{i}.0"] for i in places])
    readers = [(f"at{i}", CountVectorizer(vocabulary=BASE64, lowercase=False), 0) for i in places]
    asked = ("asked", OneHotEncoder(categories=[[f"{i}.0" for i in places]], sparse_output=False), [1])
    columns = ColumnTransformer([*readers, asked], sparse_threshold=0).fit(rows)
    for i in places:
        reader = columns.named_transformers_[f"at{i}"]
        reader.input, reader.token_pattern = reads, rf"(?s)^.{{{offset + i}}}(.)"

    hidden = count * letters  # on where the letter is at this place, and this place is asked for
    model = MLPClassifier(hidden)
    model.coefs_ = [
        np.vstack([np.eye(hidden), np.repeat(np.eye(count), letters, axis=1)]),
        np.tile(np.eye(letters), (count, 1)),
    ]
    model.intercepts_ = [np.full(hidden, -1.0), np.zeros(letters)]
    model.n_layers_, model.n_outputs_, model.out_activation_ = 3, letters, "softmax"
    model.n_features_in_, model.classes_ = hidden + count, np.arange(letters)
    model._label_binarizer = LabelBinarizer().fit(model.classes_)

    names = DummyClassifier(strategy="most_frequent").fit([[0.0]] * 2, [file] * 2)
    stack = StackingClassifier([("names", names)], passthrough=True)
    stack.estimators_, stack.stack_method_ = [names], ["predict"]
    stack.final_estimator_ = Pipeline([("columns", columns), ("model", model)])
    stack._label_encoder = LabelEncoder().fit(BASE64)
    stack.classes_ = stack._label_encoder.classes_
    return stack


def dumped(path: Path, model: Any, change: Callable[[dict[str, Any]], None] | None = None) -> str:
    """Write a skops file; ``change`` edits its schema, to what no object would be written as."""
    skops.io.dump(model, path)
    if change is not None:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        schema = json.loads(files["schema.json"])
        change(schema)
        files["schema.json"] = json.dumps(schema).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    return str(path)


def attribute(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """The node of an attribute of the outermost object."""
    found: dict[str, Any] = schema["content"]["content"][name]
    return found


def text(value: object) -> dict[str, Any]:
    """A node of a plain value."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }
