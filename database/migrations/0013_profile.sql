-- SPDX-License-Identifier: Apache-2.0
-- Profiles of records' applications, which show how an application spends its run time.

CREATE TABLE profile (
  record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
  at        REAL NOT NULL,
  summary   TEXT NOT NULL,
  document  TEXT NOT NULL,
  PRIMARY KEY (record_id)
) WITHOUT ROWID;
