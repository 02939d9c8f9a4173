-- SPDX-License-Identifier: Apache-2.0
-- Blocks of jobs of which some are held out, so that what a record gains can be told; and why a record has its status.

ALTER TABLE decision ADD COLUMN block TEXT;

CREATE INDEX decision_by_block ON decision (record_id, block) WHERE block IS NOT NULL;

ALTER TABLE record ADD COLUMN status_at REAL;
ALTER TABLE record ADD COLUMN status_reason TEXT NOT NULL DEFAULT '';
