-- SPDX-License-Identifier: Apache-2.0
-- What the application of a record spends its time on.

CREATE TABLE profile (
  record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
  at        REAL NOT NULL,
  summary   TEXT NOT NULL,
  document  TEXT NOT NULL,
  PRIMARY KEY (record_id)
) WITHOUT ROWID;
