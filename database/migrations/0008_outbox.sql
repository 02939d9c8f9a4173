-- SPDX-License-Identifier: Apache-2.0
-- Messages that a replica has not yet sent to its primary matcher.

CREATE TABLE outbox (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  message TEXT NOT NULL CHECK (json_valid(message))
);
