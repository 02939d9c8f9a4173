-- SPDX-License-Identifier: Apache-2.0
-- Functions of SQLite that statements use, and the triggers, for PostgreSQL. The tables are those of the numbered
-- scripts. Names are qualified, because constraints and indexes must also work while pg_restore runs.

-- JSON can represent text that PostgreSQL cannot: NUL, and half of a surrogate pair. It is read as U+FFFD, so that no
-- job's metadata can make a query fail.
CREATE FUNCTION reprise.json_sound(document text) RETURNS json IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
  IF strpos(document, '\u0000') > 0 OR document ~* '\\ud[89a-f]' THEN
    document := regexp_replace(
      document,
      '\\u(?:0000|d[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2}))|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}',
      '\\ufffd', 'gi'
    );
  END IF;
  RETURN document;
END $$;

-- The value at a path such as $.parts.romio, whose keys have no special characters.
CREATE FUNCTION reprise.json_at(document text, path text) RETURNS json
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN RETURN reprise.json_sound(document) #> string_to_array(substr(path, 3), '.'); END $$;

CREATE FUNCTION reprise.json_type(document text, path text) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$
DECLARE part json := reprise.json_at(document, path);
BEGIN RETURN coalesce(nullif(json_typeof(part), 'boolean'), part::text); END $$; -- all numbers are a `number`

-- A string is cut to 600 characters, because an index of PostgreSQL holds values of 2704 bytes at most.
CREATE FUNCTION reprise.json_extract(document text, path text) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$
DECLARE part json := reprise.json_at(document, path);
BEGIN
  RETURN CASE json_typeof(part) WHEN 'null' THEN NULL WHEN 'string' THEN left(part #>> '{}', 600) ELSE part::text END;
END $$;

CREATE FUNCTION reprise.json_extract(document text, path text, other text) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
  RETURN '[' || coalesce(reprise.json_at(document, path)::text, 'null') || ','
             || coalesce(reprise.json_at(document, other)::text, 'null') || ']';
END $$;

CREATE FUNCTION reprise.json_each(document text) RETURNS TABLE (value text)
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN RETURN QUERY SELECT json_array_elements_text(reprise.json_sound(document)); END $$;

CREATE FUNCTION reprise.json_group_array_of(numbers bigint[]) RETURNS text
IMMUTABLE PARALLEL SAFE LANGUAGE sql AS 'SELECT array_to_json(numbers)::text';

CREATE AGGREGATE reprise.json_group_array(bigint) (
  SFUNC = array_append, STYPE = bigint[], INITCOND = '{}', FINALFUNC = reprise.json_group_array_of
);

CREATE FUNCTION reprise.json_added(object jsonb, key text, number bigint) RETURNS jsonb
IMMUTABLE PARALLEL SAFE LANGUAGE sql AS 'SELECT object || jsonb_build_object(key, number)';

CREATE FUNCTION reprise.json_text(object jsonb) RETURNS text
IMMUTABLE PARALLEL SAFE LANGUAGE sql AS 'SELECT object::text';

CREATE AGGREGATE reprise.json_group_object(text, bigint) (
  SFUNC = reprise.json_added, STYPE = jsonb, INITCOND = '{}', FINALFUNC = reprise.json_text
);

CREATE FUNCTION reprise.json_valid(document text) RETURNS boolean -- an error, not false, if it is not JSON
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS 'SELECT document::json IS NOT NULL';

CREATE FUNCTION reprise.json_type(document text) RETURNS text
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS 'SELECT json_typeof(document::json)';

CREATE FUNCTION reprise.instr(whole text, part text) RETURNS integer
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS 'SELECT strpos(whole, part)';

CREATE FUNCTION reprise.max(one anycompatible, other anycompatible) RETURNS anycompatible
IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS 'SELECT greatest(one, other)';

-- TABLES
CREATE FUNCTION reprise.log_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'user_quarantine' THEN
    INSERT INTO reprise.record_change (record_id)
    VALUES (CASE TG_OP WHEN 'DELETE' THEN OLD.record_id ELSE NEW.record_id END);
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO reprise.record_change (record_id) VALUES (OLD.id);
  END IF;
  IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' AND NEW.id <> OLD.id THEN
    INSERT INTO reprise.record_change (record_id) VALUES (NEW.id);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER record_changed AFTER INSERT OR UPDATE OR DELETE ON reprise.record
FOR EACH ROW EXECUTE FUNCTION reprise.log_record_change();

CREATE TRIGGER user_quarantine_changed AFTER INSERT OR DELETE ON reprise.user_quarantine
FOR EACH ROW EXECUTE FUNCTION reprise.log_record_change();

-- Forgets old changes, and tells all listeners (LISTEN reprise_records) the number of the newest change.
CREATE FUNCTION reprise.tell_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM reprise.record_change WHERE id <= NEW.id - 100000;
  PERFORM pg_notify('reprise_records', NEW.id::text);
  RETURN NULL;
END $$;

CREATE TRIGGER record_change_told AFTER INSERT ON reprise.record_change
FOR EACH ROW EXECUTE FUNCTION reprise.tell_record_change();

CREATE FUNCTION reprise.log_record_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO reprise.record_status (record_id, at, status, reason)
  VALUES (NEW.id, NEW.status_at, NEW.status, NEW.status_reason);
  RETURN NULL;
END $$;

CREATE TRIGGER record_status_changed AFTER UPDATE OF status, status_at, status_reason ON reprise.record
FOR EACH ROW WHEN (NEW.status_at IS NOT NULL AND NEW.status_at IS DISTINCT FROM OLD.status_at)
EXECUTE FUNCTION reprise.log_record_status();
