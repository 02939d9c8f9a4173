-- SPDX-License-Identifier: Apache-2.0
-- Indexes for the searches of the web pages, which may have to search a million rows: decisions by day and verdict,
-- jobs by user or application, and records by status, component, user or application.

DROP INDEX decision_by_record;
CREATE INDEX decision_by_record ON decision (record_id, at) WHERE record_id IS NOT NULL;
DROP INDEX decision_by_time;
CREATE INDEX decision_by_time ON decision (at, verdict);
CREATE INDEX decision_by_user ON decision (user, at);
CREATE INDEX decision_by_program ON decision (json_extract(metadata, '$.program'), at);
CREATE INDEX decision_by_job_name ON decision (json_extract(metadata, '$.job_name'), at);
DROP INDEX outcome_by_time;
CREATE INDEX outcome_by_time ON outcome (started_at, uid);
CREATE INDEX record_by_status ON record (status, id);
CREATE INDEX record_by_component ON record (component, id);
CREATE INDEX record_by_user ON record (json_extract(metadata, '$.user'), id);
CREATE INDEX record_by_program ON record (json_extract(metadata, '$.program'), id);
CREATE INDEX record_by_job_name ON record (json_extract(metadata, '$.job_name'), id);
