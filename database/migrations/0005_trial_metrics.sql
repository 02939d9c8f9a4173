-- SPDX-License-Identifier: Apache-2.0
-- What a trial measured beside its objective, e.g. reading and writing apart.

ALTER TABLE trial ADD COLUMN metrics TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metrics));
