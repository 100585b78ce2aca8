import * as z from 'zod/mini';
import type { RedirectType } from './limits.ts';

/** Body of `POST /api/v1/links` (spec, "create one link"). */
export interface CreateLinkBody {
  /** Destination: an absolute `http:` or `https:` URL of at most 2,048 characters. Stored and returned exactly as sent. */
  target_url: string;
  /** Descriptive title, at most 255 characters. @default '' */
  title?: string | undefined;
  /** Identifier of a custom domain of the account. @default the service's own domain */
  domain_id?: string | undefined;
  /** HTTP status of the redirect: 301, 302 or 307. @default 302 */
  redirect_type?: RedirectType | undefined;
  /** Labels: at most 20, of 1 to 64 characters. @default [] */
  tags?: readonly string[] | undefined;
}

/**
 * Exactly the fields of a link, in a fixed order, whatever else the caller's object holds: a row of a database may carry
 * an e-mail address, and nothing of it may reach the service. An object that has `toJSON`, as `JSON.stringify` would
 * call it, is asked for its link first.
 */
export function pickLinkFields(entry: CreateLinkBody): CreateLinkBody {
  const toJSON: unknown = Reflect.get(entry, 'toJSON');
  const link: CreateLinkBody = typeof toJSON === 'function' ? toJSON.call(entry, '') : entry;
  const { target_url, title, domain_id, redirect_type, tags } = link;
  return { target_url, title, domain_id, redirect_type, tags };
}

/**
 * A link as the service answers it (spec, "Link"). Unknown fields pass through, so that a newer service breaks no client.
 */
export const linkSchema = z.looseObject({
  id: z.string(),
  code: z.string(),
  short_url: z.string(),
  target_url: z.string(),
  title: z.string(),
  redirect_type: z.number(),
  is_active: z.boolean(),
  click_count: z.number(),
  tags: z.array(z.string()),
  created_at: z.string(),
});

/** A short link (spec, "Link"). */
export interface Link {
  /** Identifier of the link, assigned by the service. */
  id: string;
  /** Short code, assigned by the service; the last path segment of `short_url`. */
  code: string;
  /** Absolute URL formed from the short-link domain and `code`. */
  short_url: string;
  /** Destination URL, as sent. */
  target_url: string;
  /** Descriptive title; `''` when none was given. */
  title: string;
  /** HTTP status of the redirect: 301, 302 or 307. */
  redirect_type: number;
  /** `true` on a newly created link. */
  is_active: boolean;
  /** Redirects followed so far; `0` on a newly created link. */
  click_count: number;
  /** Labels; `[]` when none were given. */
  tags: string[];
  /** Creation time, ISO 8601 in UTC. */
  created_at: string;
}
