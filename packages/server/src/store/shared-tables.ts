/** How an engine says what its tables are made of. */
interface Words {
  /** A number of 64 bits, a code in the order of its bytes, and the number of a row in the order of insertion. */
  types: { int: string; code: string; position: string };
  /** What ends a table that is read in the order of insertion, one that is found by its key, and one whose rows often change. */
  ends: { ordered: string; keyed: string; changing: string };
}

/** The columns and tables that both engines have had since 0.1.0. */
export function sharedTables({ types: { int, code, position }, ends }: Words): string {
  return `
    ALTER TABLE accounts ADD COLUMN disabled_at ${int};
    ALTER TABLE api_keys ADD COLUMN expires_at ${int};
    ALTER TABLE api_keys ADD COLUMN replaced_by text; -- id of the key it was rotated to
    ALTER TABLE domains ADD COLUMN removed_at ${int};
    CREATE INDEX domains_account ON domains (account_id);

    CREATE TABLE key_uses (
      key_id text NOT NULL PRIMARY KEY,
      used_at ${int} NOT NULL
    ) ${ends.changing};

    -- Tells the caches of all instances which links to forget. The last thousand are kept: a reader that missed more reads everything again.
    CREATE TABLE link_changes (
      number ${position},
      code text, -- with no owner, null stands for all links
      owner text -- id of the account or domain whose links changed
    ) ${ends.ordered};
    INSERT INTO link_changes (code) VALUES (NULL);

    -- A bounded number of links of each account, so that showing the most clicked ones reads a few rows. A link enters with its next
    -- click: ranking all links here would hold up a large database for a minute.
    CREATE TABLE top_links (
      account_id text NOT NULL,
      code ${code} NOT NULL,
      clicks ${int} NOT NULL, -- when the link was last ranked
      PRIMARY KEY (account_id, code)
    ) ${ends.changing};

    -- The last write of each writer, so that one whose commit was in doubt is not carried out again when it is repeated.
    CREATE TABLE click_writes (
      writer text NOT NULL PRIMARY KEY,
      number ${int} NOT NULL,
      written_at ${int} NOT NULL
    ) ${ends.changing};

    -- The addresses that links had before: paths of a domain, as canonicalPath writes them.
    CREATE TABLE aliases (
      domain_id ${code} NOT NULL, -- '' is the default domain
      path ${code} NOT NULL,
      code ${code} NOT NULL,
      PRIMARY KEY (domain_id, path)
    ) ${ends.keyed};
    CREATE INDEX aliases_code ON aliases (code);

    CREATE TABLE corrections (
      number ${position},
      code ${code} NOT NULL,
      at ${int} NOT NULL,
      made_by text NOT NULL,
      old_target text NOT NULL,
      new_target text NOT NULL,
      old_title text NOT NULL, -- JSON string
      new_title text NOT NULL
    ) ${ends.ordered};
    CREATE INDEX corrections_code ON corrections (code);
  `;
}
