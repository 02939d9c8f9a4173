-- SPDX-License-Identifier: Apache-2.0
-- Access patterns of jobs' reads and writes, as I/O forwarders saw them.

CREATE TABLE job_pattern (
  outcome_id INTEGER NOT NULL REFERENCES outcome (id) ON DELETE CASCADE,
  pattern    TEXT NOT NULL,
  seconds    REAL NOT NULL CHECK (seconds >= 0),
  bytes      INTEGER NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (outcome_id, pattern)
) WITHOUT ROWID;
