import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { chunksOf } from '../../domain/chunks.ts';
import { newId } from '../../domain/ids.ts';
import { exceeds } from '../../domain/limits.ts';
import type { Writes } from '../engine.ts';
import { changedLink, targetNumber } from '../links.ts';
import type { CorrectionOutcome, NewKey, RevokedKey } from '../operator-store.ts';
import { ACCOUNT, type AccountRow, isoTime, type KeyRow, toAccount } from '../queries/accounts.ts';
import { type LinkRow, linkReads, SELECT_LINK, toLink } from '../queries/links.ts';
import { rowOf, rowsOf, type Statement, sql, sqlText, type Writing } from '../queries/reading.ts';
import type { Account, ApiKey, Domain } from '../store.ts';
import { StoreError } from '../store-error.ts';

/** Corrections that one statement writes. */
const CORRECTED_TOGETHER = 1_000;

/** The columns of a correction that are texts. */
const TEXTS = ['code', 'made_by', 'old_target', 'new_target', 'old_title', 'new_title'] as const;
const NAMES = sqlText(TEXTS.join());

/** The writes of the operator's commands, in SQL that both engines run. */
export const operatorWrites = {
  *createAccount(_, { name, plan, limits: own, now }) {
    const id = newId('acc_');
    const limits = { ...PLAN_LIMITS[plan], ...own };
    yield* rowsOf(sql`
      INSERT INTO accounts (id, name, plan, limits, created_at)
      VALUES (${id}, ${name}, ${plan}, ${JSON.stringify(limits)}, ${now})`);
    yield* rowsOf(sql`INSERT INTO link_totals (account_id) VALUES (${id})`);
    return { id, name, plan, limits };
  },

  /** A new plan brings its own limits; `limits` replace some of them. */
  *updateAccount(_, { id, change: { limits, ...change } }) {
    const account = yield* setAccount(id, LOCK);
    if (account === undefined) return undefined;
    const { name = account.name, plan = account.plan } = change;
    const planned = plan === account.plan ? account.limits : PLAN_LIMITS[plan];
    const changed = JSON.stringify({ ...planned, ...limits });
    return yield* setAccount(id, sql`name = ${name}, plan = ${plan}, limits = ${changed}`);
  },

  setAccountDisabled(_, { id, disabled, now }) {
    const since = disabled ? sql`coalesce(disabled_at, ${now})` : null;
    return setAccount(id, sql`disabled_at = ${since}`);
  },

  /** The account's row is locked while its keys are counted, so that simultaneous creates can't both take the last quota slot. */
  *createKey(_, key) {
    const { accountId, now } = key;
    const account = yield* setAccount(accountId, LOCK);
    if (account === undefined)
      throw new StoreError('internal', `There is no account ${accountId}.`);
    const counted = yield* rowOf<{ keys: number }>(sql`
      SELECT count(*) AS keys FROM api_keys WHERE account_id = ${accountId} AND revoked_at IS NULL
        AND replaced_by IS NULL AND (expires_at IS NULL OR expires_at > ${now})`);
    const used = counted?.keys ?? 0;
    const allowed = account.limits.api_keys;
    if (allowed !== null && exceeds(allowed, used, 1)) {
      return { ok: false, reason: 'plan_limit', limit: 'api_keys', used, allowed };
    }
    return { ok: true, value: yield* insertKey(key) };
  },

  *revokeKey(_, keyId, now) {
    // Of two commands, one says that it revoked the key.
    const key = yield* rowOf<RevokedKey & { revoked_at: number | null }>(sql`
      UPDATE api_keys SET ${LOCK} WHERE id = ${keyId}
      RETURNING account_id, (SELECT name FROM accounts WHERE id = account_id) AS account, name, revoked_at`);
    if (key === undefined) return undefined;
    const { revoked_at, ...owner } = key;
    const revokedAt = revoked_at ?? now;
    yield* rowsOf(sql`UPDATE api_keys SET revoked_at = ${revokedAt} WHERE id = ${keyId}`);
    return { ...owner, before: isoTime(revoked_at) };
  },

  *rotateKey(_, { keyId, hash, graceMs, expiresAt, now }) {
    const old = yield* rowOf<Omit<KeyRow, 'used_at'> & { account_id: string }>(sql`
      UPDATE api_keys SET ${LOCK} WHERE id = ${keyId} AND revoked_at IS NULL
      RETURNING id, account_id, name, permissions, expires_at, replaced_by`);
    const end = old?.expires_at ?? Number.POSITIVE_INFINITY;
    if (old === undefined || old.replaced_by !== null || end <= now) {
      return { ok: false, reason: old?.replaced_by ? 'rotated' : 'ended' };
    }
    const { account_id: accountId, name } = old;
    const made = { accountId, name, permissions: JSON.parse(old.permissions), hash, now };
    const expires = expiresAt ?? old.expires_at ?? undefined;
    const key = yield* insertKey({ ...made, expiresAt: expires });
    // Without a grace it ends at once, also where the clock of this machine is ahead of a server's.
    const ends = graceMs === 0 ? 0 : Math.min(end, now + graceMs);
    yield* rowsOf(sql`
      UPDATE api_keys SET replaced_by = ${key.id}, expires_at = ${ends} WHERE id = ${keyId}`);
    return { ok: true, value: key };
  },

  *recordKeyUse(_, keyId, now) {
    yield* rowsOf(sql`
      INSERT INTO key_uses (key_id, used_at) SELECT id, ${now} FROM api_keys WHERE id = ${keyId}
      ON CONFLICT (key_id) DO UPDATE SET
        used_at = CASE WHEN key_uses.used_at > excluded.used_at THEN key_uses.used_at ELSE excluded.used_at END`);
  },

  *addDomain(_, { hostname, accountId, now }) {
    // No Host header has a slash in it, so the links of an earlier owner lead nowhere.
    yield* rowsOf(sql`
      UPDATE domains SET hostname = hostname || '/' || id WHERE hostname = ${hostname} AND removed_at IS NOT NULL`);
    const returned = yield* rowOf<Domain>(sql`
      UPDATE domains SET removed_at = NULL, hostname = ${hostname} WHERE account_id = ${accountId} AND hostname = ${hostname} || '/' || id
        AND NOT EXISTS (SELECT 1 FROM domains WHERE hostname = ${hostname}) RETURNING id, hostname, account_id`);
    if (returned !== undefined) return returned;
    return yield* rowOf<Domain>(sql`
      INSERT INTO domains (id, hostname, account_id, created_at)
      VALUES (${newId('dom_')}, ${hostname}, ${accountId}, ${now})
      ON CONFLICT (hostname) DO NOTHING RETURNING id, hostname, account_id`);
  },

  /** The domain is locked before its links are looked for, so that an import which adds some has ended. */
  *removeDomain(engine, { hostname, force, now }) {
    const domain = yield* rowOf<Domain>(sql`
      SELECT id, hostname, account_id FROM domains
      WHERE hostname = ${hostname} AND removed_at IS NULL ${engine.locked}`);
    if (domain === undefined) return { ok: false, reason: 'unknown' };
    const { id } = domain;
    const used = yield* rowOf(sql`
      SELECT 1 AS used WHERE EXISTS (SELECT 1 FROM links WHERE domain_id = ${id})
        OR EXISTS (SELECT 1 FROM aliases WHERE domain_id = ${id})`);
    if (used !== undefined && !force) return { ok: false, reason: 'has_links' };
    yield* rowsOf(sql`UPDATE domains SET removed_at = ${now} WHERE id = ${id}`);
    return { ok: true, value: domain };
  },

  *setLinkActive(engine, code, active) {
    // SQLite has no booleans.
    yield* rowsOf(sql`UPDATE links SET is_active = (${active ? 1 : 0} = 1) WHERE code = ${code}`);
    return yield* linkReads.findLink(engine, code);
  },

  /** All links are locked before they are read, in the order of their codes: of two calls, one waits for all of the other. */
  *updateLinks({ shortUrl, bucket, table, locked }, corrections) {
    const codes = sql`SELECT code FROM ${table(['code'], corrections)}`;
    yield* rowsOf(sql`SELECT code FROM links WHERE code IN (${codes}) ORDER BY code ${locked}`);
    const rows = yield* rowsOf<LinkRow>(sql`${SELECT_LINK} WHERE code IN (${codes})`);
    const found = new Map(rows.map((row) => [row.code, row]));
    const outcomes = corrections.map((correction): CorrectionOutcome => {
      const row = found.get(correction.code);
      if (row === undefined) return { ok: false, reason: 'unknown' };
      const { target_url } = row;
      return target_url === (correction.ifTarget ?? target_url)
        ? { ok: true, ...changedLink(toLink(shortUrl, row), correction) }
        : { ok: false, reason: 'other_target', target_url };
    });
    if (!outcomes.every((outcome) => outcome.ok)) return outcomes;
    const changes = corrections.flatMap(({ code, by, now }, at) => {
      const [row, outcome] = [found.get(code), outcomes[at]];
      if (row === undefined || !outcome?.changed) return [];
      const { target_url: new_target, title: new_title } = outcome.value;
      const old = { old_target: row.target_url, old_title: row.title };
      const number = targetNumber({ ...row, target_url: new_target });
      return { code, at: now, made_by: by, ...old, new_target, new_title, number };
    });
    for (const some of chunksOf(changes, CORRECTED_TOGETHER)) {
      const listed = table([...TEXTS, 'at', 'number'], some);
      yield* rowsOf(sql`
        UPDATE links SET target_url = new_target, title = new_title, target_number = CAST(number AS bigint) + ${bucket}
        FROM ${listed} WHERE links.code = listed.code`);
      yield* rowsOf(sql`
        INSERT INTO corrections (${NAMES}, at)
          SELECT ${NAMES}, CAST(at AS bigint) FROM ${listed}`);
    }
    return outcomes;
  },
} satisfies Writes;

/** Changes nothing, but locks the row on both engines. */
const LOCK = sqlText('name = name');

/** Changes an account, whose row is locked until the transaction ends. */
function* setAccount(id: string, change: Statement): Writing<Account | undefined> {
  const row = yield* rowOf<AccountRow>(sql`
    UPDATE accounts SET ${change} WHERE id = ${id} RETURNING ${ACCOUNT}`);
  return row && toAccount(row);
}

function* insertKey(key: NewKey & { accountId: string }): Writing<ApiKey> {
  const { accountId, name, permissions, hash, expiresAt, now } = key;
  const id = newId('key_');
  yield* rowsOf(sql`
    INSERT INTO api_keys (id, account_id, name, permissions, hash, expires_at, created_at)
    VALUES (${id}, ${accountId}, ${name}, ${JSON.stringify(permissions)}, ${hash}, ${expiresAt ?? null}, ${now})`);
  const expires_at = isoTime(expiresAt);
  return { id, account_id: accountId, name, permissions: [...permissions], expires_at };
}
