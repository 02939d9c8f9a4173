-- SPDX-License-Identifier: Apache-2.0
-- What a replica has still to send to the matcher that it stands in for.

CREATE TABLE outbox (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  message TEXT NOT NULL CHECK (json_valid(message))
);
