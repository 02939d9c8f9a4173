-- SPDX-License-Identifier: Apache-2.0
-- Mask secrets in all stored text that users may have written; text that is stored from now on is masked as well.
-- `masked` is a function that database/schema.py defines. The last statement requests that the file be rewritten, so
-- that it no longer contains the secrets.

UPDATE campaign SET name = masked(name), spec = masked(spec), summary = masked(summary)
WHERE name <> masked(name) OR spec <> masked(spec) OR summary <> masked(summary);

UPDATE trial SET samples = masked(samples), message = masked(message), metrics = masked(metrics)
WHERE message <> masked(message) OR metrics <> masked(metrics);

UPDATE record SET metadata = masked(metadata), status_reason = masked(status_reason)
WHERE metadata <> masked(metadata) OR status_reason <> masked(status_reason);

UPDATE record_status SET reason = masked(reason) WHERE reason <> masked(reason);

UPDATE decision SET
  user = masked(user),
  reason = masked(reason),
  metadata = masked(metadata),
  fields = masked(fields, metadata),
  alternatives = masked(alternatives)
WHERE metadata <> masked(metadata) OR fields <> masked(fields, metadata) OR reason <> masked(reason)
  OR alternatives <> masked(alternatives) OR user <> masked(user);

UPDATE prediction SET settings = masked(settings), rows = masked(rows), refused = masked(refused)
WHERE settings <> masked(settings) OR rows <> masked(rows) OR refused <> masked(refused);

UPDATE outbox SET message = masked(message) WHERE message <> masked(message);

PRAGMA user_version = 1;
