-- SPDX-License-Identifier: Apache-2.0
-- Shares of jobs in the pool of I/O forwarders, and the states of forwarders, both with the periods in which they held.

CREATE TABLE forwarder_share (
  id         INTEGER PRIMARY KEY,
  cluster    TEXT NOT NULL,
  job_id     INTEGER NOT NULL,
  uid        INTEGER NOT NULL CHECK (uid >= 0),
  at         REAL NOT NULL,
  until      REAL CHECK (until >= at),
  forwarders TEXT NOT NULL CHECK (json_valid(forwarders) AND json_type(forwarders) = 'array'),
  shared     INTEGER NOT NULL CHECK (shared IN (0, 1)),
  nodes      INTEGER NOT NULL CHECK (nodes >= 1),
  processes  INTEGER NOT NULL CHECK (processes >= 1),
  policy     TEXT NOT NULL,
  reason     TEXT NOT NULL
);

CREATE INDEX forwarder_share_by_job ON forwarder_share (cluster, job_id);
CREATE INDEX forwarder_share_by_time ON forwarder_share (at);
CREATE UNIQUE INDEX forwarder_share_now ON forwarder_share (cluster, job_id) WHERE until IS NULL;

CREATE TABLE forwarder_state (
  id      INTEGER PRIMARY KEY,
  cluster TEXT NOT NULL,
  address TEXT NOT NULL,
  works   INTEGER NOT NULL CHECK (works IN (0, 1)),
  at      REAL NOT NULL,
  until   REAL CHECK (until >= at),
  reason  TEXT NOT NULL
);

CREATE INDEX forwarder_state_by_time ON forwarder_state (at);
CREATE UNIQUE INDEX forwarder_state_now ON forwarder_state (cluster, address) WHERE until IS NULL;
