-- SPDX-License-Identifier: Apache-2.0
-- A log of added, changed and deleted records, so that a daemon only has to read the records that changed. Only the
-- most recent 100000 changes are kept; a daemon that has missed more changes reads all records.

CREATE TABLE record_change (
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  record_id INTEGER NOT NULL
);

CREATE TRIGGER record_added AFTER INSERT ON record BEGIN
  INSERT INTO record_change (record_id) VALUES (new.id);
END;

CREATE TRIGGER record_changed AFTER UPDATE ON record BEGIN
  INSERT INTO record_change (record_id) VALUES (old.id);
  INSERT INTO record_change (record_id) SELECT new.id WHERE new.id <> old.id;
END;

CREATE TRIGGER record_gone AFTER DELETE ON record BEGIN
  INSERT INTO record_change (record_id) VALUES (old.id);
END;

CREATE TRIGGER record_change_forgotten AFTER INSERT ON record_change BEGIN
  DELETE FROM record_change WHERE id <= new.id - 100000;
END;
