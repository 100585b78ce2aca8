import { DEFAULT_REDIRECT_TYPE, type RedirectType } from './limits.ts';
import { type Data, type Read, type ResponseBody, reader } from './shape.ts';

/** A link to create. Only these fields are sent, so a {@link Link}, or a row of a database, may be given as it is. Null counts as not given. */
export interface LinkInput {
  /**
   * Destination: an absolute `http:` or `https:` URL of at most 2,048 characters. A string is stored and returned exactly as it
   * is; of a `URL`, it is the `href`.
   */
  target_url: string | URL;
  /** Descriptive title, at most 255 characters. @default '' */
  title?: string | null | undefined;
  /** Identifier of a custom domain of the account. @default the service's own domain */
  domain_id?: string | null | undefined;
  /** HTTP status of the redirect: 301, 302 or 307. @default 302 */
  redirect_type?: RedirectType | null | undefined;
  /** Labels: at most 20, of 1 to 64 characters. @default [] */
  tags?: readonly string[] | null | undefined;
}

/** What is sent of an input that has a target. */
export type Sent<Input extends { target_url: unknown }> = { target_url: string } & {
  [Name in Exclude<keyof Input, 'target_url'>]?: NonNullable<Input[Name]> | undefined;
};

/** Body of `POST /api/v1/links`, and one entry of a batch. */
export type CreateLinkBody = Sent<LinkInput>;

/**
 * Exactly the fields of a link, in a fixed order, whatever else the caller's object holds: a row of a database may carry
 * an e-mail address. An object that has `toJSON`, as `JSON.stringify` would call it, is asked for its link first.
 *
 * @throws TypeError when `tags` is not a list of strings
 */
export function pickLinkFields(entry: LinkInput): CreateLinkBody {
  const toJSON: unknown = Reflect.get(entry, 'toJSON');
  const input: LinkInput = typeof toJSON === 'function' ? toJSON.call(entry, '') : entry;
  const { target_url, title, domain_id, redirect_type, tags } = input;
  const labels: unknown = tags ?? [];
  // Tags with objects in them would carry what is in these objects to the service.
  if (!(Array.isArray(labels) && labels.every((tag) => typeof tag === 'string'))) {
    throw new TypeError('tags must be a list of strings');
  }
  return {
    target_url: target_url instanceof URL ? target_url.href : target_url,
    title: title ?? undefined,
    domain_id: domain_id ?? undefined,
    redirect_type: redirect_type ?? undefined,
    tags: tags ?? undefined,
  };
}

/**
 * A short link. `code` and `short_url` are always there. Where a service leaves another field out, or sends null or
 * another type, the client fills in its default. Fields that are not named here pass through.
 */
export interface Link extends Data<typeof link> {}
export const link = {
  /** Identifier of the link, assigned by the service. A number becomes a string. @default '' */
  id: '',
  /** Short code, assigned by the service; the last path segment of `short_url`. Never empty. */
  code: '',
  /** Absolute URL formed from the short-link domain and `code`. Never empty. */
  short_url: '',
  /** Destination URL. @default the `target_url` that was sent */
  target_url: '',
  /** Descriptive title. @default '' */
  title: '',
  /** HTTP status of the redirect: 301, 302 or 307; another service may have others. @default 302 */
  redirect_type: DEFAULT_REDIRECT_TYPE as RedirectType,
  /** `true` on a newly created link. @default true */
  is_active: true,
  /** Redirects followed so far; `0` on a newly created link. @default 0 */
  click_count: 0,
  /** Labels. @default [] */
  tags: [''],
  /** Creation time, ISO 8601 in UTC. @default '' */
  created_at: '',
};

const readFields = reader<Link>(link);

/** Reads the response to a create. Only `code` and `short_url` are required, see {@link Link}. */
export function readLink(value: ResponseBody): Read<Link> {
  const data = readFields(value);
  if (data.code === '') return { missing: 'code' };
  return data.short_url === '' ? { missing: 'short_url' } : { data };
}
