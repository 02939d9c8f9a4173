-- SPDX-License-Identifier: Apache-2.0
-- Models that predict the cost of settings. A model is stored as its training data, to which it is fitted again when it
-- is used.

CREATE TABLE prediction (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  family TEXT NOT NULL,
  component TEXT NOT NULL,
  component_version TEXT NOT NULL,
  target TEXT NOT NULL,
  created_at REAL NOT NULL,
  engine TEXT NOT NULL,
  settings TEXT NOT NULL CHECK (json_valid(settings)),
  rows TEXT NOT NULL CHECK (json_valid(rows)),
  configurations INTEGER NOT NULL CHECK (configurations >= 0),
  mdape REAL,
  r2 REAL,
  refused TEXT NOT NULL
);

CREATE INDEX prediction_by_family ON prediction (family, component, target, id);
