-- SPDX-License-Identifier: Apache-2.0
-- Blocks of similar jobs, some of which are held out to measure the gain of a record, and the time and reason of a
-- record's status.

ALTER TABLE decision ADD COLUMN block TEXT;

CREATE INDEX decision_by_block ON decision (record_id, block) WHERE block IS NOT NULL;

ALTER TABLE record ADD COLUMN status_at REAL;
ALTER TABLE record ADD COLUMN status_reason TEXT NOT NULL DEFAULT '';
