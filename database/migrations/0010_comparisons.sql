-- SPDX-License-Identifier: Apache-2.0
-- If a decision applies settings of several records: the record that is compared, and whether its settings were held
-- out. Also the number of jobs in a block, and the history of each record's status.

ALTER TABLE decision ADD COLUMN compared_id INTEGER;
ALTER TABLE decision ADD COLUMN held_out INTEGER;
ALTER TABLE decision ADD COLUMN block_size INTEGER;

UPDATE decision SET
  compared_id = record_id,
  held_out = verdict = 'holdout',
  block_size = (
    SELECT count(*) FROM decision AS other INDEXED BY decision_by_block
    WHERE other.record_id = decision.record_id AND other.block = decision.block
  )
WHERE block IS NOT NULL;

DROP INDEX decision_by_block;
CREATE INDEX decision_by_block ON decision (compared_id, block) WHERE block IS NOT NULL;
CREATE INDEX decision_by_uid ON decision (uid, at);

CREATE TABLE record_status (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  record_id INTEGER NOT NULL,
  at        REAL NOT NULL,
  status    TEXT NOT NULL,
  reason    TEXT NOT NULL
);

CREATE INDEX record_status_by_record ON record_status (record_id, at);

INSERT INTO record_status (record_id, at, status, reason)
SELECT id, status_at, status, status_reason FROM record WHERE status_at IS NOT NULL ORDER BY status_at, id;

CREATE TRIGGER record_status_changed AFTER UPDATE OF status, status_at, status_reason ON record
WHEN NEW.status_at IS NOT NULL AND NEW.status_at IS NOT OLD.status_at
BEGIN
  INSERT INTO record_status (record_id, at, status, reason)
  VALUES (NEW.id, NEW.status_at, NEW.status, NEW.status_reason);
END;
