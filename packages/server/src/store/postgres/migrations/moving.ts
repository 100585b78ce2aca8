/**
 * Links that came from elsewhere, and corrected ones. An alias is the address that a link had before: a path of a domain, as `canonicalPath`
 * writes it. Everything is added: instances of the version before continue to work on this schema.
 */
export const moving = `
    CREATE TABLE aliases (
      domain_id text COLLATE "C" NOT NULL, -- '' is the default domain
      path text COLLATE "C" NOT NULL,
      code text COLLATE "C" NOT NULL,
      PRIMARY KEY (domain_id, path)
    );
    CREATE INDEX aliases_code ON aliases (code);

    CREATE TABLE corrections (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      code text COLLATE "C" NOT NULL,
      at bigint NOT NULL,
      made_by text NOT NULL,
      old_target text NOT NULL,
      new_target text NOT NULL,
      old_title text NOT NULL, -- JSON string
      new_title text NOT NULL
    );
    CREATE INDEX corrections_code ON corrections (code);

    ALTER TABLE link_clicks ALTER COLUMN slot SET DEFAULT 0; -- SQLite has no slots
  `;
