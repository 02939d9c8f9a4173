-- SPDX-License-Identifier: Apache-2.0
-- Whether the end of a job was reported by slurmstepd rather than by the job itself, and the users for whom a record is
-- quarantined. For ends that are already stored, it is unknown who reported them, so they do not count as confirmed.

ALTER TABLE outcome ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0 CHECK (confirmed IN (0, 1));

CREATE INDEX decision_by_user_block ON decision (compared_id, uid, block) WHERE block IS NOT NULL;

CREATE TABLE user_quarantine (
  record_id INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
  uid       INTEGER NOT NULL CHECK (uid >= 0),
  user      TEXT NOT NULL,
  at        REAL NOT NULL,
  reason    TEXT NOT NULL,
  PRIMARY KEY (record_id, uid)
) WITHOUT ROWID;

CREATE TRIGGER user_quarantine_added AFTER INSERT ON user_quarantine BEGIN
  INSERT INTO record_change (record_id) VALUES (new.record_id);
END;

CREATE TRIGGER user_quarantine_gone AFTER DELETE ON user_quarantine BEGIN
  INSERT INTO record_change (record_id) VALUES (old.record_id);
END;
